// GPUs and processes as the kernel's compute driver for AMD GPUs (KFD) lists them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/gpu_sample.h"

namespace gpuscaler {

// A GPU, or one partition of it.
struct KfdNode {
  int64_t gpu_id = 0;     // KFD's key, in KfdProcesses
  int render_minor = 0;   // 128 for /dev/dri/renderD128
  std::string pci_place;  // "0000:c1:00", without the function: partitions have others
  std::optional<int64_t> memory_bytes;
};

// Returns the GPUs in the order of KFD's nodes. A node is missing if this process may not open its
// device: the kernel then answers EPERM (kfd_topology.c, kfd_devcgroup_check_permission). So a
// container without GPUs sees none, unless it is privileged.
std::vector<KfdNode> ReadKfdNodes(const std::string& sysfs_root);

// The key is KfdNode::gpu_id.
using KfdProcesses = std::map<int64_t, std::vector<GpuProcess>>;

// Returns the processes with memory on each GPU. A process that could use a GPU but has no memory
// there is left out. Their ids are the host's. nullopt: there is no KFD.
std::optional<KfdProcesses> ReadKfdProcesses(const std::string& sysfs_root);

}  // namespace gpuscaler
