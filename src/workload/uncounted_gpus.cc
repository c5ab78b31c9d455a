#include "workload/uncounted_gpus.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "model/unreadable_gpu.h"
#include "workload/device_id.h"

namespace gpuscaler {
namespace {

constexpr char kWhy[] = "the driver no longer counts this GPU";

// A GPU that this agent never saw: what it can measure is not known.
GpuSample NeverSeen(const std::string& uuid, int index) {
  GpuSample gpu = UnknownGpu(index, kWhy);
  gpu.uuid = uuid;
  return gpu;
}

int IndexAfter(const NodeSnapshot& snapshot) {
  int after = 0;
  for (const GpuSample& gpu : snapshot.gpus) after = std::max(after, gpu.index + 1);
  return after;
}

// The driver counts it, whole or divided. Letters may be of either case.
bool IsPresent(const NodeSnapshot& snapshot, const std::string& uuid) {
  return std::ranges::any_of(snapshot.gpus, [&](const GpuSample& gpu) {
    return absl::EqualsIgnoreCase(gpu.uuid, uuid) || absl::EqualsIgnoreCase(gpu.parent_uuid, uuid);
  });
}

// Whether the device is one whole GPU of NVIDIA's, and its id the UUID. Other makers have ids of
// the same form, operators rename resources, and a MIG instance may have been divided anew.
bool IsWholeGpu(const PodDevice& device, const DeviceId& id) {
  return id.form == DeviceId::Form::kUuid && !id.is_replica && IsOfNvidia(device.resource) &&
         absl::StartsWith(id.text, "GPU-");
}

std::set<std::string> ListedWholeGpus(absl::Span<const NodePod> pods) {
  std::set<std::string> uuids;
  for (const NodePod& pod : pods) {
    for (const PodDevice& device : pod.devices) {
      for (const DeviceId& id : IdsOf(device)) {
        if (IsWholeGpu(device, id)) uuids.insert(id.text);
      }
    }
  }
  return uuids;
}

bool IsCounted(const NodeSnapshot& snapshot, const std::string& uuid) {
  return std::ranges::find(snapshot.gpus, uuid, &GpuSample::uuid) != snapshot.gpus.end();
}

// Whether an id names the GPU and none that is counted: of a minor number another one may have it.
bool IsListed(const GpuSample& gpu, const NodeSnapshot& snapshot, absl::Span<const NodePod> pods) {
  const auto names_it = [&](const DeviceId& id) {
    return !FindGpus(id, {&gpu, 1}).empty() && FindGpus(id, snapshot.gpus).empty();
  };
  return std::ranges::any_of(pods, [&](const NodePod& pod) {
    return std::ranges::any_of(pod.devices, [&](const PodDevice& device) {
      return std::ranges::any_of(IdsOf(device), names_it);
    });
  });
}

}  // namespace

void UncountedGpus::AddTo(NodeSnapshot& snapshot, absl::Span<const NodePod> pods) {
  Remember(snapshot, pods);
  const bool any_unknown = std::ranges::any_of(
      snapshot.gpus, [](const GpuSample& gpu) { return gpu.uuid == UnknownGpuUuid(gpu.index); });
  if (any_unknown) return;
  for (const auto& [uuid, seen] : seen_) {
    if (!IsCounted(snapshot, uuid)) snapshot.gpus.push_back(UnreadableGpu(seen, kWhy, {}));
  }
  for (const std::string& uuid : ListedWholeGpus(pods)) {
    if (IsPresent(snapshot, uuid)) continue;
    snapshot.gpus.push_back(NeverSeen(uuid, IndexAfter(snapshot)));
  }
}

// Those that are there, and those that are listed. MIG instances go when they are divided anew.
void UncountedGpus::Remember(const NodeSnapshot& snapshot, absl::Span<const NodePod> pods) {
  for (const GpuSample& gpu : snapshot.gpus) {
    const bool has_own_uuid = gpu.uuid != UnknownGpuUuid(gpu.index);
    if (!IsMig(gpu) && has_own_uuid) seen_.insert_or_assign(gpu.uuid, gpu);
  }
  std::erase_if(seen_, [&](const auto& entry) {
    return !IsCounted(snapshot, entry.first) && !IsListed(entry.second, snapshot, pods);
  });
}

}  // namespace gpuscaler
