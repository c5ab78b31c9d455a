// The flags of commands that ask a running scaler: its TLS.
#pragma once

#include <vector>

#include "app/command.h"
#include "serve/scaler_client.h"

namespace gpuscaler {

// They set `client`, which outlives them.
std::vector<Flag> ClientFlags(ScalerClientOptions* client);

// A scaler's address as it was given, with the port where that was left out; TLS is on where a flag
// implies it. INVALID_ARGUMENT says what is allowed.
absl::StatusOr<std::unique_ptr<ScalerClient>> OpenClient(const std::string& address,
                                                         ScalerClientOptions client);

}  // namespace gpuscaler
