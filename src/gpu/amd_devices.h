// The AMD GPUs of a node and their partitions, as sysfs lists them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu/amd_gpu_metrics.h"
#include "gpu/kfd_nodes.h"

namespace gpuscaler {

// A device that a pod can have: a whole GPU, or a partition of one.
struct AmdRenderDevice {
  std::string id;                   // the device plugin's: "0000:c1:00.0", or "amdgpu_xcp_30"
  std::optional<int> render_minor;  // 128 for /dev/dri/renderD128
};

struct AmdGpu {
  std::string folder;     // its PCI device in sysfs
  AmdRenderDevice whole;  // a divided GPU's partition 0
  std::string card;       // "card1"; empty: none
  std::string unique_id;  // 16 hexadecimal digits; empty: the GPU has none
  std::string name;       // "AMD Instinct MI210", else "AMD GPU 740f"
  // "CPX NPS4"; "": the GPU cannot be divided; nullopt: not readable now, as during a reset.
  std::optional<std::string> mode;
  std::vector<AmdRenderDevice> others;  // devices of partitions 1 and on, whether in use or not
};

// Returns false without amdgpu's driver, or if it has no GPU.
bool HasAmdGpus(const std::string& sysfs_root);

// Returns the GPUs in the order of their PCI addresses. UNAVAILABLE: there is none.
//
// sysfs does not show which GPU a partition's device (amdgpu_xcp_N) belongs to, but `nodes` do. A
// device that is not in `nodes` belongs to the divided GPU with the nearest lower render minor,
// because the kernel creates the devices of a GPU's partitions right after the GPU's own.
absl::StatusOr<std::vector<AmdGpu>> FindAmdGpus(const std::string& sysfs_root,
                                                const std::vector<KfdNode>& nodes);

// Returns the partitions in use, in the order of their numbers. Empty: the GPU is not divided.
std::vector<AmdRenderDevice> PartitionsOf(const AmdGpu& gpu, const AmdGpuMetrics& metrics,
                                          const std::vector<KfdNode>& nodes);

// Returns nullptr if KFD does not show the device.
const KfdNode* NodeOf(const AmdRenderDevice& device, const std::vector<KfdNode>& nodes);

}  // namespace gpuscaler
