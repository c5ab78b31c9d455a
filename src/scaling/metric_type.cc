#include "scaling/metric_type.h"

#include <algorithm>
#include <array>

namespace gpuscaler {
namespace {

constexpr CostlyReadings kCheap = {};

std::optional<double> MemoryUsedMib(const GpuSample& gpu) {
  if (!gpu.memory_used_bytes) return std::nullopt;
  return static_cast<double>(*gpu.memory_used_bytes) / (1 << 20);
}

constexpr std::array<MetricTypeInfo, 10> kMetricTypes = {{
    {MetricType::kGpuUtilization, "gpu_utilization", "%", false, true, kCheap,
     GpuField::kUtilization, [](const GpuSample& gpu) { return gpu.utilization_percent; },
     "Share of time in which a kernel ran: busy, not full"},
    {MetricType::kMemoryUtilization, "memory_utilization", "%", false, true, kCheap,
     GpuField::kMemoryUtilization,
     [](const GpuSample& gpu) { return gpu.memory_utilization_percent; },
     "Share of time in which the memory controller was busy"},
    {MetricType::kMemoryUsedMib, "memory_used_mib", "MiB", true, false, kCheap, GpuField::kMemory,
     MemoryUsedMib, "VRAM in use, the driver's reserve not counted"},
    {MetricType::kMemoryUsedPercent, "memory_used_percent", "%", false, true, kCheap,
     GpuField::kMemory, MemoryUsedPercent, "VRAM in use, of the total"},
    {MetricType::kTemperature, "temperature", "C", false, false, kCheap, GpuField::kTemperature,
     [](const GpuSample& gpu) { return gpu.temperature_celsius; }, "Temperature of the GPU's die"},
    {MetricType::kPowerDraw, "power_draw", "W", true, false, kCheap, GpuField::kPower,
     [](const GpuSample& gpu) { return gpu.power_watts; }, "Power drawn by the board"},
    {MetricType::kPcieTx,
     "pcie_tx_kbps",
     "KB/s",
     true,
     false,
     {.pcie = true},
     GpuField::kPcie,
     [](const GpuSample& gpu) { return gpu.pcie_tx_kbps; },
     "PCIe throughput from the GPU"},
    {MetricType::kPcieRx,
     "pcie_rx_kbps",
     "KB/s",
     true,
     false,
     {.pcie = true},
     GpuField::kPcie,
     [](const GpuSample& gpu) { return gpu.pcie_rx_kbps; },
     "PCIe throughput to the GPU"},
    {MetricType::kNvlinkTx, "nvlink_tx_mbps", "MiB/s", true, false, kCheap, GpuField::kNvlink,
     [](const GpuSample& gpu) { return gpu.nvlink_tx_mbps; }, "NVLink throughput sent, all links"},
    {MetricType::kNvlinkRx, "nvlink_rx_mbps", "MiB/s", true, false, kCheap, GpuField::kNvlink,
     [](const GpuSample& gpu) { return gpu.nvlink_rx_mbps; },
     "NVLink throughput received, all links"},
}};

constexpr bool RowsAreInTheOrderOfTheEnum() {
  for (size_t i = 0; i < kMetricTypes.size(); ++i) {
    if (static_cast<size_t>(kMetricTypes[i].type) != i) return false;
  }
  return true;
}
static_assert(RowsAreInTheOrderOfTheEnum(), "InfoOf() takes the row at the enumerator's index");

}  // namespace

std::span<const MetricTypeInfo> MetricTypes() { return kMetricTypes; }

const MetricTypeInfo& InfoOf(MetricType type) { return kMetricTypes[static_cast<size_t>(type)]; }

std::optional<MetricType> MetricTypeNamed(absl::string_view name) {
  const auto info = std::ranges::find(kMetricTypes, name, &MetricTypeInfo::name);
  return info == kMetricTypes.end() ? std::nullopt : std::optional(info->type);
}

}  // namespace gpuscaler
