// The GPU utilization of each process since the last reading.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/nvml_api.h"
#include "model/gpu_sample.h"

namespace gpuscaler::nvml {

// Keeps the time of the newest sample and no object of the library, so it survives a new nvmlInit.
// Not thread-safe.
class ProcessUsage {
 public:
  // Fills `utilization_percent` of every process, with 0 for an idle one. Leaves all empty if the
  // call fails or the driver does not support it (MIG, some GeForce). Queries only devices with
  // several processes: the utilization of a single one is that of the GPU.
  void Read(const NvmlFunctions& calls, Device device, std::vector<GpuProcess>& processes);

 private:
  uint64_t newest_usec_ = 0;  // 0 before the first reading
};

}  // namespace gpuscaler::nvml
