#include "model/unreadable_gpu.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {
namespace {

constexpr GpuField kFields[] = {
    GpuField::kUtilization, GpuField::kMemoryUtilization,
    GpuField::kMemory,      GpuField::kTemperature,
    GpuField::kPower,       GpuField::kPowerLimit,
    GpuField::kPcie,        GpuField::kNvlink,
    GpuField::kProcesses,   GpuField::kEcc,
    GpuField::kThrottle,
};

bool HasValue(const GpuSample& gpu, GpuField field) {
  switch (field) {
    case GpuField::kUtilization:
      return gpu.utilization_percent.has_value();
    case GpuField::kMemoryUtilization:
      return gpu.memory_utilization_percent.has_value();
    case GpuField::kMemory:
      return gpu.memory_used_bytes.has_value() || gpu.memory_total_bytes.has_value();
    case GpuField::kTemperature:
      return gpu.temperature_celsius.has_value();
    case GpuField::kPower:
      return gpu.power_watts.has_value();
    case GpuField::kPowerLimit:
      return gpu.power_limit_watts.has_value();
    case GpuField::kPcie:
      return gpu.pcie_tx_kbps.has_value() || gpu.pcie_rx_kbps.has_value();
    case GpuField::kNvlink:
      return gpu.nvlink_tx_mbps.has_value() || gpu.nvlink_rx_mbps.has_value();
    case GpuField::kProcesses:
      return gpu.processes.has_value();
    case GpuField::kEcc:
      return gpu.ecc_uncorrected_errors.has_value();
    case GpuField::kThrottle:
      break;
  }
  return gpu.throttle_reasons.has_value();
}

GpuSample Named(std::string uuid, int index) {
  GpuSample gpu;
  gpu.uuid = std::move(uuid);
  gpu.index = index;
  return gpu;
}

}  // namespace

GpuSample UnreadableGpu(const GpuSample& before, const std::string& detail,
                        const CostlyReadings& wanted) {
  GpuSample gpu = Named(before.uuid, before.index);
  gpu.parent_uuid = before.parent_uuid;
  gpu.name = before.name;
  gpu.minor_number = before.minor_number;
  gpu.gpu_instance = before.gpu_instance;
  gpu.is_in_mig_mode = before.is_in_mig_mode;
  for (const GpuField field : kFields) {
    const GpuGap* gap = FindGap(before, field);
    if (gap != nullptr && gap->reason == GpuGap::Reason::kNotRequested && !wanted.pcie) {
      gpu.gaps.push_back(*gap);
    } else if (gap != nullptr || HasValue(before, field)) {
      gpu.gaps.push_back({field, GpuGap::Reason::kFailed, detail});
    }
  }
  return gpu;
}

GpuSample UnknownGpu(int index, const std::string& detail) {
  GpuSample gpu = Named(UnknownGpuUuid(index), index);
  for (const GpuField field : kFields) {
    gpu.gaps.push_back({field, GpuGap::Reason::kFailed, detail});
  }
  return gpu;
}

void AddGaps(const GpuSample& before, const std::string& detail, GpuSample& gpu) {
  for (const GpuField field : kFields) {
    const bool was_there = HasValue(before, field) || FindGap(before, field) != nullptr;
    if (!was_there || HasValue(gpu, field) || FindGap(gpu, field) != nullptr) continue;
    gpu.gaps.push_back({field, GpuGap::Reason::kFailed, detail});
  }
}

bool IsUnreadable(const GpuSample& gpu) {
  return std::ranges::none_of(kFields, [&](GpuField field) { return HasValue(gpu, field); });
}

}  // namespace gpuscaler
