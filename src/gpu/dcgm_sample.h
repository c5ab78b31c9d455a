// From what stands on dcgm-exporter's page to samples of GPUs, with our units.
#pragma once

#include <string>

#include "gpu/dcgm_exposition.h"
#include "model/gpu_sample.h"

namespace gpuscaler {

// "GPU-...", or of an instance "MIG-GPU-.../3", the beginning of what drivers before 470 call it.
std::string UuidOf(const DcgmDevice& device);

// Without holders and gaps. Of an instance what is its own: utilisation and memory. Power,
// temperature and links stand beside every instance on the page, but are the GPU's.
GpuSample SampleOf(const DcgmDevice& device);

// The GPU that `instance` is a part of, which pages leave out, with what its instances tell of it.
GpuSample ParentOf(const DcgmDevice& instance);

}  // namespace gpuscaler
