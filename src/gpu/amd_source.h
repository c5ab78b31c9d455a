// AMD GPUs through sysfs and KFD: no library, no device, no privilege.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu/amd_devices.h"
#include "gpu/amd_gpu_metrics.h"
#include "gpu/gpu_source.h"
#include "gpu/kfd_nodes.h"
#include "gpu/mean_activity.h"

namespace gpuscaler {

// A GPU that is divided is followed by its partitions, which are instances of it as those of MIG
// are. Their ids and those of whole GPUs are in GpuSample::device_ids. A value that the device
// lacks is empty. A value that was there before, or cannot be read, is a gap. Not thread-safe.
class AmdSource : public GpuSource {
 public:
  // `sysfs_root` is "/sys", or a copy of it. `clock` must outlive the source.
  AmdSource(std::string sysfs_root, std::string node, const Clock& clock);

  // Blocks as long as the driver does. UNAVAILABLE: there is no AMD GPU.
  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& wanted) override;

 private:
  // The part of a GPU's earlier readings that the next one needs.
  struct History {
    std::string uuid;
    std::string mode;                       // AmdGpu::mode, as last read
    std::optional<std::string> link_group;  // empty: not read yet
    MeanActivity gfx;
    MeanActivity memory;
    std::vector<std::vector<MeanActivity>> dies;  // partitions, then compute dies
  };
  // KFD's part of a reading.
  struct Kfd {
    std::vector<KfdNode> nodes;
    std::optional<KfdProcesses> processes;
  };

  void ReadGpu(AmdGpu gpu, int index, const Kfd& kfd, NodeSnapshot& snapshot);
  static void ReadUtilization(const AmdGpu& gpu, const AmdGpuMetrics& metrics, History& history,
                              GpuSample& sample);
  static void ReadPartition(const AmdRenderDevice& device, const Kfd& kfd, GpuSample& sample);
  void AddGapsSinceLast(const char* why, GpuSample& sample) const;

  const std::string sysfs_root_;
  const std::string node_;
  const Clock& clock_;
  std::map<std::string, History> histories_;  // key: PCI address
  std::map<std::string, GpuSample> last_;     // key: UUID
};

}  // namespace gpuscaler
