// Where a scaler is, as a person types it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// "localhost" -> "localhost:6000", "::1" -> "[::1]:6000", "dns:///scaler.keda:6000", which a
// scalerAddress may be -> "scaler.keda:6000"; "unix:/path" as it is. INVALID_ARGUMENT for a port
// that is none: getaddrinfo(3) would take 99999 for 34463.
absl::StatusOr<std::string> ScalerAddress(absl::string_view text);

}  // namespace gpuscaler
