#include "workload/lost_gpus.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "model/unreadable_gpu.h"
#include "workload/device_id.h"

namespace gpuscaler {
namespace {

constexpr char kNotCounted[] = "the driver no longer counts this GPU";

// This agent never saw the GPU, so its supported readings are unknown.
GpuSample UnseenGpu(const std::string& uuid, int index) {
  GpuSample gpu = UnknownGpu(index, kNotCounted);
  gpu.uuid = uuid;
  return gpu;
}

int IndexAfter(const NodeSnapshot& snapshot) {
  int after = 0;
  for (const GpuSample& gpu : snapshot.gpus) after = std::max(after, gpu.index + 1);
  return after;
}

// Returns true if the driver counts the GPU, whole or divided. Letter case is ignored.
bool IsPresent(const NodeSnapshot& snapshot, const std::string& uuid) {
  return std::ranges::any_of(snapshot.gpus, [&](const GpuSample& gpu) {
    return absl::EqualsIgnoreCase(gpu.uuid, uuid) || absl::EqualsIgnoreCase(gpu.parent_uuid, uuid);
  });
}

// Returns true if the device is one whole GPU of NVIDIA's, with its UUID as the id. Other vendors
// have ids of the same form, operators rename resources, and a MIG instance may have been created
// again.
bool IsWholeGpu(const PodDevice& device, const DeviceId& id) {
  return id.form == DeviceId::Form::kUuid && !id.is_replica && IsNvidiaResource(device.resource) &&
         absl::StartsWith(id.text, "GPU-");
}

std::set<std::string> ListedWholeGpus(absl::Span<const PodAllocation> pods) {
  std::set<std::string> uuids;
  for (const PodAllocation& pod : pods) {
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

// Returns true if an id names the GPU and no counted one. Another GPU may have its minor number.
bool IsListed(const GpuSample& gpu, const NodeSnapshot& snapshot,
              absl::Span<const PodAllocation> pods) {
  const auto names_it = [&](const DeviceId& id) {
    return !FindGpus(id, {&gpu, 1}).empty() && FindGpus(id, snapshot.gpus.get()).empty();
  };
  return std::ranges::any_of(pods, [&](const PodAllocation& pod) {
    return std::ranges::any_of(pod.devices, [&](const PodDevice& device) {
      return std::ranges::any_of(IdsOf(device), names_it);
    });
  });
}

}  // namespace

void LostGpus::AddTo(NodeSnapshot& snapshot, absl::Span<const PodAllocation> pods) {
  Remember(snapshot, pods);
  const bool any_unknown = std::ranges::any_of(
      snapshot.gpus, [](const GpuSample& gpu) { return gpu.uuid == UnknownGpuUuid(gpu.index); });
  if (any_unknown) return;
  for (const auto& [uuid, seen] : seen_) {
    if (!IsCounted(snapshot, uuid)) snapshot.gpus.push_back(UnreadableGpu(seen, kNotCounted, {}));
  }
  for (const std::string& uuid : ListedWholeGpus(pods)) {
    if (IsPresent(snapshot, uuid)) continue;
    snapshot.gpus.push_back(UnseenGpu(uuid, IndexAfter(snapshot)));
  }
}

// Keeps the GPUs that are counted and those that are listed. MIG instances vanish when their GPU is
// divided anew.
void LostGpus::Remember(const NodeSnapshot& snapshot, absl::Span<const PodAllocation> pods) {
  for (const GpuSample& gpu : snapshot.gpus) {
    const bool has_own_uuid = gpu.uuid != UnknownGpuUuid(gpu.index);
    if (!IsMig(gpu) && has_own_uuid) seen_.insert_or_assign(gpu.uuid, gpu);
  }
  std::erase_if(seen_, [&](const auto& entry) {
    return !IsCounted(snapshot, entry.first) && !IsListed(entry.second, snapshot, pods);
  });
}

}  // namespace gpuscaler
