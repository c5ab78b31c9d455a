// The GPUs that a job may use, among those that the driver shows.
#pragma once

#include <string>
#include <vector>

#include "model/gpu_sample.h"

namespace gpuscaler {

struct GpuSelection {
  std::vector<GpuSample> gpus;     // in the driver's order
  std::vector<std::string> notes;  // entries that no GPU answers to, and the like
};

// `entries` as CUDA_VISIBLE_DEVICES and SLURM have them: an index, a UUID or the beginning of one
// (GPU-8932f937), MIG-<uuid>, MIG-<parent's uuid>/<gi>/<ci>. A GPU brings its MIG instances along.
//
// SLURM counts the indices of the whole node, but a job confined to its devices sees only those,
// counted from 0: where some index is not there and as many GPUs are as were given, all are the
// job's.
GpuSelection SelectGpus(const std::vector<GpuSample>& gpus,
                        const std::vector<std::string>& entries);

}  // namespace gpuscaler
