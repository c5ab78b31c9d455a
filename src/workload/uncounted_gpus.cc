#include "workload/uncounted_gpus.h"

#include <algorithm>
#include <set>
#include <utility>

#include "workload/device_id.h"

namespace gpuscaler {
namespace {

constexpr char kWhy[] = "the driver no longer counts this GPU";

constexpr GpuField kFields[] = {GpuField::kUtilization, GpuField::kMemoryUtilization,
                                GpuField::kMemory,      GpuField::kTemperature,
                                GpuField::kPower,       GpuField::kPcie,
                                GpuField::kNvlink};

bool Has(const GpuSample& gpu, GpuField field) {
  switch (field) {
    case GpuField::kUtilization:
      return gpu.utilization_percent.has_value();
    case GpuField::kMemoryUtilization:
      return gpu.memory_utilization_percent.has_value();
    case GpuField::kMemory:
      return gpu.memory_used_bytes.has_value();
    case GpuField::kTemperature:
      return gpu.temperature_celsius.has_value();
    case GpuField::kPower:
      return gpu.power_watts.has_value();
    case GpuField::kPcie:
      return gpu.pcie_tx_kbps.has_value();
    case GpuField::kNvlink:
      return gpu.nvlink_tx_mbps.has_value();
    default:
      return false;
  }
}

GpuSample Uncounted(const GpuSample& seen) {
  GpuSample gpu{.uuid = seen.uuid, .name = seen.name, .index = seen.index};
  gpu.minor_number = seen.minor_number;
  for (const GpuField field : kFields) {
    const bool had = Has(seen, field) || FindGap(seen, field) != nullptr;
    if (had) gpu.gaps.push_back({field, GpuGap::Reason::kFailed, kWhy});
  }
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
