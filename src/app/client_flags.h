// The address and TLS flags of commands that call a running scaler.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "app/command.h"
#include "serve/scaler_client.h"

namespace gpuscaler {

// The flags set `client`, which must outlive them.
std::vector<Flag> ClientFlags(ScalerClientOptions* client);

// Parses an address as typed by a user. Returns "localhost:6000" for "localhost", "[::1]:6000" for
// "::1", and "scaler.keda:6000" for a scalerAddress like "dns:///scaler.keda:6000". Returns
// "unix:/path" unchanged. Returns INVALID_ARGUMENT for an invalid port: getaddrinfo(3) would read
// 99999 as 34463.
absl::StatusOr<std::string> ScalerAddress(absl::string_view text);

// Opens a client for ScalerAddress(address). Uses TLS if a flag implies it. Returns
// INVALID_ARGUMENT with what is allowed.
absl::StatusOr<std::unique_ptr<ScalerClient>> OpenClient(const std::string& address,
                                                         ScalerClientOptions client);

}  // namespace gpuscaler
