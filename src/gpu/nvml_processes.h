// The compute processes of a device.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "gpu/nvml_api.h"
#include "model/gpu_sample.h"

namespace gpuscaler::nvml {

// Returns true for drivers 535.43 to 535.86. They write longer rows through the _v3 call than it
// declares. Their _v2 call is right (nvitop #79, #89).
bool HasBrokenProcessesV3(absl::string_view driver_version);

// Adds compute processes and MPS clients, each once. Returns an error if a list could not be read
// completely.
Return ReadProcesses(const NvmlFunctions& calls, bool v3_is_broken, Device device,
                     std::vector<GpuProcess>& processes);

}  // namespace gpuscaler::nvml
