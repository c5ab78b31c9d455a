// Converts an exporter's values to samples of GPUs, with our units.
#pragma once

#include "gpu/exporter_exposition.h"
#include "model/gpu_sample.h"

namespace gpuscaler {

// The sample has no holders and no gaps. An instance has utilization, activity and memory only.
// Its lines may have power, temperature and links too, but these are the GPU's.
GpuSample SampleOf(const ExporterDevice& device);

// Makes the sample of the GPU that an instance is part of. Expositions have no lines for such a
// GPU, but an instance's lines have the GPU's power, temperature and links.
GpuSample ParentOf(const ExporterDevice& instance);

}  // namespace gpuscaler
