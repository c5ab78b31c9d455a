// How much of a GPU each of its processes used since the last reading.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/nvml_api.h"
#include "model/gpu_sample.h"

namespace gpuscaler::nvml {

// Keeps the time of the newest sample, and nothing of the library's: survives a new nvmlInit.
class ProcessUsage {
 public:
  // Fills `utilization_percent` of every process, with 0 for one that was idle; of none where the
  // driver cannot tell (MIG, some GeForce). Asks only where several processes are on the device: a
  // single one's part is the GPU's own utilisation.
  void Read(const Calls& calls, Device device, std::vector<GpuProcess>& processes);

 private:
  uint64_t newest_usec_ = 0;  // 0 before the first reading
};

}  // namespace gpuscaler::nvml
