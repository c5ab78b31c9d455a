// `gpus --fleet`: the GPUs of all nodes of a running scaler.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "serve/scaler_client.h"

namespace gpuscaler {

// Prints them in `format` and returns the exit code.
int ShowFleet(const std::string& address, const ScalerClientOptions& options,
              absl::string_view format);

}  // namespace gpuscaler
