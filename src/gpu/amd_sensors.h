// The values of an AMD GPU that have a file of their own in its sysfs folder
// (drivers/gpu/drm/amd/pm/amdgpu_pm.c, amdgpu_vram_mgr.c).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/gpu_sample.h"

namespace gpuscaler {

// Returns true if the kernel has powered the GPU down because it is idle. Reading most of its files
// would wake it. Memory and identity are safe.
bool IsAsleep(const std::string& device);

// Sets `percent` from the file, unless it has a value. If the GPU lacks the file, sets it to
// `otherwise`. A file that cannot be read, or has no percentage, is a gap.
void ReadAmdPercent(const std::string& path, GpuField field, std::optional<double> otherwise,
                    GpuSample& sample, std::optional<double>& percent);

// Reads the memory, used and total. A file that cannot be read is a gap.
void ReadAmdMemory(const std::string& device, GpuSample& sample);

// Sets the memory from bytes, or a gap if `used` is negative or more than `total`.
void SetAmdMemory(int64_t used, int64_t total, GpuSample& sample);

// Reads power, its limit and temperature from the GPU's hwmon folder. A file that cannot be read is
// a gap.
void ReadAmdSensors(const std::string& device, GpuSample& sample);

}  // namespace gpuscaler
