#include "gpu/exporter_sample.h"

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

std::optional<double> Percent(const std::optional<double>& number) {
  if (!number.has_value() || *number > kMaxPercent) return std::nullopt;
  return std::min(*number, 100.0);
}

std::optional<double> Divided(const std::optional<double>& number, double by) {
  return number.has_value() ? std::optional(*number / by) : std::nullopt;
}

int64_t Bytes(double mib) { return std::llround(mib * kMib); }

std::optional<double> TotalMib(const ExporterValues& values) {
  const auto& total = At(values, ExporterField::kMemoryTotal);
  const auto& used = At(values, ExporterField::kMemoryUsed);
  const auto& free = At(values, ExporterField::kMemoryFree);
  if (total.has_value() || !used.has_value() || !free.has_value()) return total;
  return *used + *free + At(values, ExporterField::kMemoryReserved).value_or(0);
}

// Leaves both empty if more is used than the total, or if any GPU has less.
void FillMemory(const ExporterValues& values, GpuSample& gpu) {
  const auto& used = At(values, ExporterField::kMemoryUsed);
  const auto total = TotalMib(values);
  if (std::max(used.value_or(0), total.value_or(0)) > kMaxMib) return;
  if (used && total && *used > *total) return;
  if (used) gpu.memory_used_bytes = Bytes(*used);
  if (total) gpu.memory_total_bytes = Bytes(*total);
}

void FillWhole(const ExporterValues& values, GpuSample& gpu) {
  gpu.temperature_celsius = At(values, ExporterField::kTemperature);
  gpu.power_watts = At(values, ExporterField::kPower);
  gpu.power_limit_watts = At(values, ExporterField::kPowerLimit);
  gpu.pcie_tx_kbps = Divided(At(values, ExporterField::kPcieTx), kKilobyte);
  gpu.pcie_rx_kbps = Divided(At(values, ExporterField::kPcieRx), kKilobyte);
  gpu.nvlink_tx_mbps = Divided(At(values, ExporterField::kNvlinkTx), kMib);
  gpu.nvlink_rx_mbps = Divided(At(values, ExporterField::kNvlinkRx), kMib);
  if (const auto& errors = At(values, ExporterField::kEccUncorrected)) {
    gpu.ecc_uncorrected_errors = static_cast<int64_t>(*errors);
  }
  if (const auto& reasons = At(values, ExporterField::kThrottleReasons)) {
    gpu.throttle_reasons = static_cast<uint64_t>(*reasons);
  }
}

GpuSample Named(const ExporterDevice& device) {
  GpuSample gpu;
  gpu.uuid = device.uuid;
  gpu.name = device.model;
  gpu.index = device.index;
  return gpu;
}

}  // namespace

GpuSample SampleOf(const ExporterDevice& device) {
  GpuSample gpu = Named(device);
  FillMemory(device.values, gpu);
  gpu.utilization_percent = Percent(At(device.values, ExporterField::kEngineActive));
  gpu.sm_activity_percent = Percent(At(device.values, ExporterField::kSmActive));
  gpu.dram_activity_percent = Percent(At(device.values, ExporterField::kDramActive));
  gpu.tensor_activity_percent = Percent(At(device.values, ExporterField::kTensorActive));
  if (device.instance.has_value()) {
    gpu.uuid = UuidOf(device);
    gpu.parent_uuid = device.uuid;
    gpu.gpu_instance = device.instance;
    if (!device.profile.empty()) absl::StrAppend(&gpu.name, " ", device.profile);
    return gpu;
  }
  // Prefers the driver's utilization, like all other sources. GPUs that cannot be profiled have no
  // other.
  const auto utilization = Percent(At(device.values, ExporterField::kGpuUtilization));
  if (utilization.has_value()) gpu.utilization_percent = utilization;
  gpu.memory_utilization_percent = Percent(At(device.values, ExporterField::kMemoryUtilization));
  FillWhole(device.values, gpu);
  return gpu;
}

GpuSample ParentOf(const ExporterDevice& instance) {
  GpuSample gpu = Named(instance);
  FillWhole(instance.values, gpu);
  return gpu;
}

}  // namespace gpuscaler
