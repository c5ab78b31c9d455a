#include "gpu/dcgm_sample.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

constexpr double kMib = 1024 * 1024;
constexpr double kMaxMib = 16 * kMib;  // the largest GPUs have 0.5 TiB
constexpr double kKilobyte = 1000;     // NVML's KB/s of PCIe

// Ratios of work counters may be a little above 1. A larger one is no percentage.
constexpr double kMaxPercent = 105;

std::optional<double> Percent(std::optional<double> number) {
  if (!number.has_value() || *number > kMaxPercent) return std::nullopt;
  return std::min(*number, 100.0);
}

std::optional<double> PercentOfRatio(const std::optional<double>& ratio) {
  return ratio.has_value() ? Percent(100 * *ratio) : std::nullopt;
}

std::optional<double> Divided(const std::optional<double>& number, double by) {
  return number.has_value() ? std::optional(*number / by) : std::nullopt;
}

int64_t Bytes(double mib) { return std::llround(mib * kMib); }

std::optional<double> TotalMib(const DcgmValues& values) {
  const auto& total = At(values, DcgmField::kMemoryTotal);
  const auto& used = At(values, DcgmField::kMemoryUsed);
  const auto& free = At(values, DcgmField::kMemoryFree);
  if (total.has_value() || !used.has_value() || !free.has_value()) return total;
  return *used + *free + At(values, DcgmField::kMemoryReserved).value_or(0);
}

// Leaves both empty if more is used than the total, or if any GPU has less.
void FillMemory(const DcgmValues& values, GpuSample& gpu) {
  const auto& used = At(values, DcgmField::kMemoryUsed);
  const auto total = TotalMib(values);
  if (std::max(used.value_or(0), total.value_or(0)) > kMaxMib) return;
  if (used && total && *used > *total) return;
  if (used) gpu.memory_used_bytes = Bytes(*used);
  if (total) gpu.memory_total_bytes = Bytes(*total);
}

void FillWhole(const DcgmValues& values, GpuSample& gpu) {
  gpu.temperature_celsius = At(values, DcgmField::kTemperature);
  gpu.power_watts = At(values, DcgmField::kPower);
  gpu.power_limit_watts = At(values, DcgmField::kPowerLimit);
  gpu.pcie_tx_kbps = Divided(At(values, DcgmField::kPcieTx), kKilobyte);
  gpu.pcie_rx_kbps = Divided(At(values, DcgmField::kPcieRx), kKilobyte);
  gpu.nvlink_tx_mbps = Divided(At(values, DcgmField::kNvlinkTx), kMib);
  gpu.nvlink_rx_mbps = Divided(At(values, DcgmField::kNvlinkRx), kMib);
  if (const auto& errors = At(values, DcgmField::kEccUncorrected)) {
    gpu.ecc_uncorrected_errors = static_cast<int64_t>(*errors);
  }
  if (const auto& reasons = At(values, DcgmField::kThrottleReasons)) {
    gpu.throttle_reasons = static_cast<uint64_t>(*reasons);
  }
}

GpuSample Named(const DcgmDevice& device) {
  GpuSample gpu;
  gpu.uuid = device.uuid;
  gpu.name = device.model;
  gpu.index = device.index;
  return gpu;
}

}  // namespace

std::string UuidOf(const DcgmDevice& device) {
  return device.gpu_instance ? absl::StrCat("MIG-", device.uuid, "/", *device.gpu_instance)
                             : device.uuid;
}

GpuSample SampleOf(const DcgmDevice& device) {
  GpuSample gpu = Named(device);
  FillMemory(device.values, gpu);
  gpu.utilization_percent = PercentOfRatio(At(device.values, DcgmField::kEngineActive));
  gpu.sm_activity_percent = PercentOfRatio(At(device.values, DcgmField::kSmActive));
  gpu.dram_activity_percent = PercentOfRatio(At(device.values, DcgmField::kDramActive));
  gpu.tensor_activity_percent = PercentOfRatio(At(device.values, DcgmField::kTensorActive));
  if (device.gpu_instance.has_value()) {
    gpu.uuid = UuidOf(device);
    gpu.parent_uuid = device.uuid;
    gpu.gpu_instance = device.gpu_instance;
    if (!device.profile.empty()) absl::StrAppend(&gpu.name, " MIG ", device.profile);
    return gpu;
  }
  // Prefers NVML's utilization, like all other sources. GPUs that DCGM cannot profile have no
  // other.
  const auto utilization = Percent(At(device.values, DcgmField::kGpuUtilization));
  if (utilization.has_value()) gpu.utilization_percent = utilization;
  gpu.memory_utilization_percent = Percent(At(device.values, DcgmField::kMemoryUtilization));
  FillWhole(device.values, gpu);
  return gpu;
}

GpuSample ParentOf(const DcgmDevice& instance) {
  GpuSample gpu = Named(instance);
  FillWhole(instance.values, gpu);
  return gpu;
}

}  // namespace gpuscaler
