#include "model/unreadable_gpu.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {
namespace {

template <auto... members>
bool HasAny(const GpuSample& gpu) {
  return ((gpu.*members).has_value() || ...);
}

// Each field, and whether a sample has a value of it.
constexpr std::pair<GpuField, bool (*)(const GpuSample&)> kFields[] = {
    {GpuField::kUtilization, HasAny<&GpuSample::utilization_percent>},
    {GpuField::kMemoryUtilization, HasAny<&GpuSample::memory_utilization_percent>},
    {GpuField::kMemory, HasAny<&GpuSample::memory_used_bytes, &GpuSample::memory_total_bytes>},
    {GpuField::kTemperature, HasAny<&GpuSample::temperature_celsius>},
    {GpuField::kPower, HasAny<&GpuSample::power_watts>},
    {GpuField::kPowerLimit, HasAny<&GpuSample::power_limit_watts>},
    {GpuField::kPcie, HasAny<&GpuSample::pcie_tx_kbps, &GpuSample::pcie_rx_kbps>},
    {GpuField::kNvlink, HasAny<&GpuSample::nvlink_tx_mbps, &GpuSample::nvlink_rx_mbps>},
    {GpuField::kSmActivity, HasAny<&GpuSample::sm_activity_percent>},
    {GpuField::kDramActivity, HasAny<&GpuSample::dram_activity_percent>},
    {GpuField::kTensorActivity, HasAny<&GpuSample::tensor_activity_percent>},
    {GpuField::kProcesses, HasAny<&GpuSample::processes>},
    {GpuField::kEcc, HasAny<&GpuSample::ecc_uncorrected_errors>},
    {GpuField::kThrottle, HasAny<&GpuSample::throttle_reasons>},
};

bool IsRequested(GpuField field, const CostlyReadings& wanted) {
  return field == GpuField::kPcie ? wanted.pcie : wanted.activity;
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
  gpu.link_group = before.link_group;
  gpu.is_in_mig_mode = before.is_in_mig_mode;
  gpu.device_ids = before.device_ids;
  for (const auto& [field, has_value] : kFields) {
    const GpuGap* gap = FindGap(before, field);
    if (gap != nullptr && gap->reason == GpuGap::Reason::kNotRequested &&
        !IsRequested(field, wanted)) {
      gpu.gaps.push_back(*gap);
    } else if (gap != nullptr || has_value(before)) {
      gpu.gaps.push_back({field, GpuGap::Reason::kFailed, detail});
    }
  }
  return gpu;
}

GpuSample UnknownGpu(int index, const std::string& detail) {
  GpuSample gpu = Named(UnknownGpuUuid(index), index);
  for (const auto& row : kFields) {
    gpu.gaps.push_back({row.first, GpuGap::Reason::kFailed, detail});
  }
  return gpu;
}

void AddGaps(const GpuSample& before, const std::string& detail, GpuSample& gpu) {
  for (const auto& [field, has_value] : kFields) {
    const bool was_there = has_value(before) || FindGap(before, field) != nullptr;
    if (!was_there || has_value(gpu) || FindGap(gpu, field) != nullptr) continue;
    gpu.gaps.push_back({field, GpuGap::Reason::kFailed, detail});
  }
}

bool IsUnreadable(const GpuSample& gpu) {
  return std::ranges::none_of(kFields, [&](const auto& row) { return row.second(gpu); });
}

}  // namespace gpuscaler
