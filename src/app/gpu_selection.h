// Selects the GPUs that a job may use, among those that the driver reports.
#pragma once

#include <string>
#include <vector>

#include "model/gpu_sample.h"

namespace gpuscaler {

struct GpuSelection {
  std::vector<GpuSample> gpus;     // in the driver's order
  std::vector<std::string> notes;  // entries that match no GPU
};

// Returns the GPUs that match `entries` of CUDA_VISIBLE_DEVICES or SLURM: an index, a UUID or a
// prefix of one (GPU-8932f937), MIG-<uuid>, MIG-<parent's uuid>/<gi>/<ci>. A GPU includes its MIG
// instances.
//
// SLURM's indices count all GPUs of the node, but a job confined to its devices sees only those,
// counted from 0. If an index is missing and there are as many GPUs as entries, all GPUs are the
// job's.
GpuSelection SelectGpus(const std::vector<GpuSample>& gpus,
                        const std::vector<std::string>& entries);

}  // namespace gpuscaler
