// Texts of NVML's error codes, and their meaning for a reading.
#pragma once

#include <string>

#include "gpu/nvml_api.h"

namespace gpuscaler::nvml {

// "NVML error 15 (GPU_IS_LOST)".
std::string ErrorText(Return error);

// Returns true if the device or this driver has no such reading, which is not a failure.
bool IsUnsupported(Return error);

// Returns true if the driver was replaced under the library. Then no handle works any more, and
// every other error has this cause.
bool IsReload(Return error);

// Returns true if handles may be invalid: the GPU is gone, or the driver was replaced.
bool IsLoss(Return error);

}  // namespace gpuscaler::nvml
