// Where a scaler is, as a person types it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// "localhost" -> "localhost:6000", "::1" -> "[::1]:6000"; gRPC's own forms (dns:, ipv4:, ipv6:,
// unix:) as they are. INVALID_ARGUMENT for a port that is none: gRPC would take 99999 for 34463.
absl::StatusOr<std::string> ScalerAddress(absl::string_view text);

}  // namespace gpuscaler
