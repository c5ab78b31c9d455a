// NVML's error codes in words, and what they mean for a reading.
#pragma once

#include <string>

#include "gpu/nvml_api.h"

namespace gpuscaler::nvml {

// "NVML error 15 (GPU_IS_LOST)".
std::string ErrorText(Return error);

// The device or this driver has no such reading: not a failure.
bool IsLacking(Return error);

// The driver under the library is another one: no handle works any more, and of every other error
// this is the cause.
bool IsReload(Return error);

// Handles may be dead: the GPU is gone, or the driver under the library is another one.
bool IsLoss(Return error);

}  // namespace gpuscaler::nvml
