// `gpus --fleet`: the GPUs of every node, as a running scaler has them.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "serve/scaler_client.h"

namespace gpuscaler {

// Prints them as `format` says; the exit code.
int ShowFleet(const std::string& address, const ScalerClientOptions& options,
              absl::string_view format);

}  // namespace gpuscaler
