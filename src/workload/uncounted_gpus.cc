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

GpuSample Uncounted(const GpuSample& seen) {
  GpuSample gpu = UnreadableGpu(seen, kWhy, {});
  gpu.minor_number = seen.minor_number;
  return gpu;
}

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
  return id.form == DeviceId::Form::kUuid && !id.is_replica &&
         absl::StartsWith(device.resource, "nvidia.com/") && absl::StartsWith(id.text, "GPU-");
}

std::set<std::string> ListedWholeGpus(absl::Span<const NodePod> pods) {
  std::set<std::string> uuids;
  for (const NodePod& pod : pods) {
    for (const PodDevice& device : pod.devices) {
      const auto id = ParseDeviceId(device.resource, device.id);
      if (id && IsWholeGpu(device, *id)) uuids.insert(id->text);
    }
  }
  return uuids;
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
  const std::set<std::string> listed = ListedUuids(pods);
  std::erase_if(seen_, [&](const auto& entry) {
    return !listed.contains(entry.first) && !IsCounted(snapshot, entry.first);
  });
}

}  // namespace gpuscaler
