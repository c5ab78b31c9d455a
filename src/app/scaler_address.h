// Parses a scaler's address as typed by a user.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// Returns "localhost:6000" for "localhost", "[::1]:6000" for "::1", and "scaler.keda:6000" for a
// scalerAddress like "dns:///scaler.keda:6000". Returns "unix:/path" unchanged. Returns
// INVALID_ARGUMENT for an invalid port: getaddrinfo(3) would read 99999 as 34463.
absl::StatusOr<std::string> ScalerAddress(absl::string_view text);

}  // namespace gpuscaler
