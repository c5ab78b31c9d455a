// Matches the driver's indices that fail with the GPUs of the reading before.
#pragma once

#include <string>
#include <vector>

#include "model/costly_readings.h"
#include "model/gpu_sample.h"

namespace gpuscaler {

struct FailingIndex {
  int index = 0;
  std::string detail;  // "NVML error 15 (GPU_IS_LOST)"
};

// Returns one unreadable sample for each of `failing`, and for each of its MIG instances in
// `before`. If the driver counts as many GPUs as before, an index means the same GPU as before. If
// the count changed, it means one of the GPUs that have not `answered`. If these are more than the
// indices, one of them is gone: only those that failed before are left to choose from. An index
// without such a GPU is an UnknownGpu.
std::vector<GpuSample> SamplesOf(const std::vector<FailingIndex>& failing,
                                 const std::vector<GpuSample>& answered,
                                 const std::vector<GpuSample>& before,
                                 const CostlyReadings& wanted);

}  // namespace gpuscaler
