// Which GPUs the driver's indices that fail stand for, told by the GPUs of the reading before.
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

// One unreadable sample for each of `failing`, and for each MIG instance of it that `before` has.
// While the driver counts as many GPUs as before, an index stands for the GPU that it stood for.
// Where the count changed, only GPUs that have not `answered` are left to choose from: all of them
// where they are no more than the indices, else those that failed already, as one of the others is
// gone. An index that nothing is left for is an UnknownGpu.
std::vector<GpuSample> SamplesOf(const std::vector<FailingIndex>& failing,
                                 const std::vector<GpuSample>& answered,
                                 const std::vector<GpuSample>& before,
                                 const CostlyReadings& wanted);

}  // namespace gpuscaler
