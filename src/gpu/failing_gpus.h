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

// Makes one unreadable sample for each of `failing`, and for each of its MIG instances in `before`.
// - If the driver counts as many GPUs as before, an index means the GPU that had it before.
// - If the count has changed, indices may have shifted. The failing GPUs are then those in `before`
//   that are not in `answered`, in their order. If these are more than the indices, some are gone,
//   and only those that failed before too are candidates.
// An index without such a GPU gets an UnknownGpu.
std::vector<GpuSample> SamplesOf(const std::vector<FailingIndex>& failing,
                                 const std::vector<GpuSample>& answered,
                                 const std::vector<GpuSample>& before,
                                 const CostlyReadings& wanted);

}  // namespace gpuscaler
