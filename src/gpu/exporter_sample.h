// Converts an exporter's values to samples of GPUs, with our units.
#pragma once

#include "gpu/exporter_exposition.h"
#include "model/gpu_sample.h"

namespace gpuscaler {

// The sample has no holders and no gaps. An instance has utilization, activity and memory only.
// Its lines may have power, temperature and links too, but these are the GPU's.
GpuSample SampleOf(const ExporterDevice& device);

// The readings are those of the GPU in the instance's lines. Expositions leave out the GPU itself.
GpuSample ParentOf(const ExporterDevice& instance);

}  // namespace gpuscaler
