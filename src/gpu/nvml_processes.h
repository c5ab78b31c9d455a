// The compute processes of a device.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "gpu/nvml_api.h"
#include "model/gpu_sample.h"

namespace gpuscaler::nvml {

// Drivers 535.43 to 535.86 write longer rows through the _v3 call than its declaration says; their
// _v2 is right (nvitop #79, #89).
bool HasBrokenProcessesV3(absl::string_view driver_version);

// MPS clients count as well, each process once. A list that could not be read whole is an error.
Return ReadProcesses(const Calls& calls, bool v3_is_broken, Device device,
                     std::vector<GpuProcess>& processes);

}  // namespace gpuscaler::nvml
