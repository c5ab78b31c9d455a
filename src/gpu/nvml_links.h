// The NVLink groups of a node's GPUs.
#pragma once

#include <string>
#include <vector>

#include "gpu/nvml_api.h"

namespace gpuscaler::nvml {

struct LinkGroups {
  std::vector<std::string> names;  // GpuSample::link_group of each device
  // False: some device did not answer, or its fabric is not set up yet. Retry later.
  bool is_complete = true;
};

// Two GPUs are linked if the driver can copy between them over NVLink. That is right for bridges
// and switches alike, and independent of the number of links.
//
// A group is named "nvlink-0", in the order of `devices`, or after its fabric and clique, as the
// label nvidia.com/gpu.clique is: "<cluster UUID>.<clique>". Such a group may span nodes. A GPU
// without a link to any other is in no group.
LinkGroups ReadLinkGroups(const NvmlFunctions& calls, const std::vector<Device>& devices);

}  // namespace gpuscaler::nvml
