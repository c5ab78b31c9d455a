#include "gpu/amd_source.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu/amd_sensors.h"
#include "gpu/sysfs_file.h"
#include "model/unreadable_gpu.h"

namespace gpuscaler {
namespace {

constexpr char kNotInSysfs[] = "not in sysfs at this reading";
constexpr char kAsleep[] = "the GPU is powered down: it is idle";

AmdGpuMetrics ReadMetrics(const std::string& device) {
  const auto table = ReadSysfsBytes(device + "/gpu_metrics");
  return table.ok() ? ParseAmdGpuMetrics(*table) : AmdGpuMetrics();
}

// The names are those that tools show: "renderD128".
std::vector<std::string> IdsOf(const AmdRenderDevice& device) {
  std::vector<std::string> ids = {device.id};
  if (device.render_minor) ids.push_back(absl::StrCat("renderD", *device.render_minor));
  return ids;
}

// Returns "xgmi-" and the id of the hive: the GPUs that xGMI links to each other. It is the hive_id
// of KFD's topology, in a file that every container has (amdgpu_xgmi.c). A GPU without such links
// has no file.
std::string LinkGroupOf(const std::string& device) {
  uint64_t hive = 0;
  const std::string text = ReadSysfs(device + "/xgmi_hive_info/xgmi_hive_id").value_or("");
  return absl::SimpleAtoi(text, &hive) && hive != 0 ? absl::StrCat("xgmi-", absl::Hex(hive)) : "";
}

void AddProcesses(const AmdRenderDevice& device, const std::vector<KfdNode>& nodes,
                  const std::optional<KfdProcesses>& processes, GpuSample& sample) {
  const KfdNode* const node = NodeOf(device, nodes);
  if (node == nullptr || !processes) return;
  const auto found = processes->find(node->gpu_id);
  sample.processes = found == processes->end() ? std::vector<GpuProcess>() : found->second;
}

// Returns the mean of the compute dies since the last reading, else their mean now. Empty: the
// table does not have the partition.
std::optional<double> PartitionPercent(const AmdPartitionActivity& activity,
                                       std::optional<uint32_t> cycles,
                                       std::vector<MeanActivity>& dies) {
  std::vector<double> means;
  dies.resize(activity.busy_sums.size());
  for (size_t i = 0; cycles && i < dies.size(); ++i) {
    if (const auto mean = dies[i].SinceLastReading(*cycles, activity.busy_sums[i])) {
      means.push_back(*mean);
    }
  }
  if (means.empty() || means.size() < activity.busy_percent.size()) {
    means.assign(activity.busy_percent.begin(), activity.busy_percent.end());
  }
  if (means.empty() || std::ranges::max(means) > 100) return std::nullopt;
  return std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(means.size());
}

}  // namespace

AmdSource::AmdSource(std::string sysfs_root, std::string node, const Clock& clock)
    : sysfs_root_(std::move(sysfs_root)), node_(std::move(node)), clock_(clock) {}

absl::StatusOr<NodeSnapshot> AmdSource::Read(const CostlyReadings&) {
  const Kfd kfd = {.nodes = ReadKfdNodes(sysfs_root_), .processes = ReadKfdProcesses(sysfs_root_)};
  ASSIGN_OR_RETURN(const std::vector<AmdGpu> gpus, FindAmdGpus(sysfs_root_, kfd.nodes));
  NodeSnapshot snapshot{.taken_at = clock_.Now(), .node = node_, .source = "amd"};
  // Only AMD's own package of the driver has a version. The kernel's has that of the kernel.
  snapshot.driver_version = ReadSysfs(sysfs_root_ + "/module/amdgpu/version").value_or("");
  for (size_t i = 0; i < gpus.size(); ++i) {
    ReadGpu(gpus[i], static_cast<int>(i), kfd, snapshot);
  }
  std::erase_if(histories_, [&](const auto& entry) {
    return std::ranges::none_of(gpus,
                                [&](const AmdGpu& gpu) { return gpu.whole.id == entry.first; });
  });
  last_.clear();
  for (const GpuSample& gpu : snapshot.gpus) last_.emplace(gpu.uuid, gpu);
  return snapshot;
}

void AmdSource::ReadGpu(AmdGpu gpu, int index, const Kfd& kfd, NodeSnapshot& snapshot) {
  History& history = histories_[gpu.whole.id];
  if (!gpu.unique_id.empty()) history.uuid = gpu.unique_id;
  if (history.uuid.empty()) history.uuid = gpu.whole.id;
  if (gpu.mode) history.mode = *gpu.mode;
  gpu.mode = history.mode;
  if (!history.link_group) history.link_group = LinkGroupOf(gpu.folder);
  GpuSample sample = {
      .uuid = history.uuid, .name = gpu.name, .index = index, .link_group = *history.link_group};
  if (!gpu.card.empty()) sample.device_ids = {gpu.card};
  ReadAmdMemory(gpu.folder, sample);
  const bool is_asleep = IsAsleep(gpu.folder);
  const AmdGpuMetrics metrics = is_asleep ? AmdGpuMetrics() : ReadMetrics(gpu.folder);
  if (is_asleep) {
    sample.utilization_percent = 0;
    AddGapsSinceLast(kAsleep, sample);
  } else {
    ReadUtilization(gpu, metrics, history, sample);
    ReadAmdSensors(gpu.folder, sample);
  }
  const std::vector<AmdRenderDevice> partitions = PartitionsOf(gpu, metrics, kfd.nodes);
  sample.is_in_mig_mode = !partitions.empty();
  if (partitions.empty()) {
    for (std::string& id : IdsOf(gpu.whole)) sample.device_ids.push_back(std::move(id));
    AddProcesses(gpu.whole, kfd.nodes, kfd.processes, sample);
  }
  AddGapsSinceLast(kNotInSysfs, sample);
  snapshot.gpus.push_back(std::move(sample));
  history.dies.resize(partitions.size());
  for (size_t i = 0; i < partitions.size(); ++i) {
    GpuSample partition = {.uuid = absl::StrCat(history.uuid, "/", i),
                           .parent_uuid = history.uuid,
                           .name = absl::StrCat(gpu.name, " ", history.mode),
                           .index = index};
    if (i < metrics.partitions.size()) {
      partition.utilization_percent =
          PartitionPercent(metrics.partitions[i], metrics.cycles, history.dies[i]);
    }
    ReadPartition(partitions[i], kfd, partition);
    AddGapsSinceLast(kNotInSysfs, partition);
    snapshot.gpus.push_back(std::move(partition));
  }
}

// Prefers the firmware's sums: `gpu_busy_percent` is the present value, which misses what happens
// between two readings.
void AmdSource::ReadUtilization(const AmdGpu& gpu, const AmdGpuMetrics& metrics, History& history,
                                GpuSample& sample) {
  if (metrics.cycles && metrics.gfx_sum) {
    sample.utilization_percent = history.gfx.SinceLastReading(*metrics.cycles, *metrics.gfx_sum);
  }
  if (metrics.cycles && metrics.memory_sum) {
    sample.memory_utilization_percent =
        history.memory.SinceLastReading(*metrics.cycles, *metrics.memory_sum);
  }
  ReadAmdPercent(gpu.folder + "/gpu_busy_percent", GpuField::kUtilization, metrics.gfx_percent,
                 sample, sample.utilization_percent);
  ReadAmdPercent(gpu.folder + "/mem_busy_percent", GpuField::kMemoryUtilization,
                 metrics.memory_percent, sample, sample.memory_utilization_percent);
}

// KFD's `used_memory` is that of the whole GPU. So the memory of the partition's processes counts.
void AmdSource::ReadPartition(const AmdRenderDevice& device, const Kfd& kfd, GpuSample& sample) {
  sample.device_ids = IdsOf(device);
  AddProcesses(device, kfd.nodes, kfd.processes, sample);
  const KfdNode* const node = NodeOf(device, kfd.nodes);
  if (node == nullptr || !sample.processes) return;
  int64_t used = 0;
  for (const GpuProcess& process : *sample.processes) used += process.memory_bytes.value_or(0);
  if (node->memory_bytes) SetAmdMemory(used, *node->memory_bytes, sample);
}

void AmdSource::AddGapsSinceLast(const char* why, GpuSample& sample) const {
  const auto before = last_.find(sample.uuid);
  if (before != last_.end()) AddGaps(before->second, why, sample);
}

}  // namespace gpuscaler
