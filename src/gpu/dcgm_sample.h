// Converts dcgm-exporter's values to samples of GPUs, with our units.
#pragma once

#include <string>

#include "gpu/dcgm_exposition.h"
#include "model/gpu_sample.h"

namespace gpuscaler {

// Returns "GPU-...", or for an instance "MIG-GPU-.../3", the beginning of its name in drivers
// before 470.
std::string UuidOf(const DcgmDevice& device);

// The sample has no holders and no gaps. An instance has utilization, activity and memory only.
// Each of its lines has power, temperature and links too, but these are the GPU's.
GpuSample SampleOf(const DcgmDevice& device);

// The readings are those of the GPU in the instance's lines. Expositions leave out the GPU itself.
GpuSample ParentOf(const DcgmDevice& instance);

}  // namespace gpuscaler
