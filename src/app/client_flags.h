// The TLS flags of commands that call a running scaler.
#pragma once

#include <vector>

#include "app/command.h"
#include "serve/scaler_client.h"

namespace gpuscaler {

// The flags set `client`, which must outlive them.
std::vector<Flag> ClientFlags(ScalerClientOptions* client);

// Opens a client for the scaler's address, with the default port if it has none. Uses TLS if a flag
// implies it. Returns INVALID_ARGUMENT with what is allowed.
absl::StatusOr<std::unique_ptr<ScalerClient>> OpenClient(const std::string& address,
                                                         ScalerClientOptions client);

}  // namespace gpuscaler
