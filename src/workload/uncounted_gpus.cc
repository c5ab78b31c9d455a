#include "workload/uncounted_gpus.h"

#include <algorithm>
#include <set>
#include <utility>

#include "model/unreadable_gpu.h"
#include "workload/device_id.h"

namespace gpuscaler {
namespace {

constexpr char kWhy[] = "the driver no longer counts this GPU";

GpuSample Uncounted(const GpuSample& seen) {
  GpuSample gpu = UnreadableGpu(seen, kWhy, {});
  gpu.minor_number = seen.minor_number;
  return gpu;
}

bool IsCounted(const NodeSnapshot& snapshot, const std::string& uuid) {
  return std::ranges::find(snapshot.gpus, uuid, &GpuSample::uuid) != snapshot.gpus.end();
}

std::set<std::string> ListedUuids(absl::Span<const NodePod> pods) {
  std::set<std::string> uuids;
  for (const NodePod& pod : pods) {
    for (const PodDevice& device : pod.devices) {
      const auto id = ParseDeviceId(device.resource, device.id);
      if (id && id->form == DeviceId::Form::kUuid) uuids.insert(id->text);
    }
  }
  return uuids;
}

}  // namespace

void UncountedGpus::AddTo(NodeSnapshot& snapshot, absl::Span<const NodePod> pods) {
  Remember(snapshot, pods);
  const bool any_unknown = std::ranges::any_of(
      snapshot.gpus, [](const GpuSample& gpu) { return gpu.uuid == UnknownGpuUuid(gpu.index); });
  if (any_unknown) return;
  for (const auto& [uuid, seen] : seen_) {
    if (!IsCounted(snapshot, uuid)) snapshot.gpus.push_back(Uncounted(seen));
  }
}

// Those that are there, and those that are listed. MIG instances go when they are divided anew.
void UncountedGpus::Remember(const NodeSnapshot& snapshot, absl::Span<const NodePod> pods) {
  for (const GpuSample& gpu : snapshot.gpus) {
    const bool has_own_uuid = gpu.uuid != UnknownGpuUuid(gpu.index);
    if (!IsMig(gpu) && has_own_uuid) seen_.insert_or_assign(gpu.uuid, gpu);
  }
  const std::set<std::string> listed = ListedUuids(pods);
  std::erase_if(seen_, [&](const auto& entry) {
    return !listed.contains(entry.first) && !IsCounted(snapshot, entry.first);
  });
}

}  // namespace gpuscaler
