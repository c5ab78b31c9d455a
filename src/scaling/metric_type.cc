#include "scaling/metric_type.h"

#include <algorithm>
#include <array>

namespace gpuscaler {
namespace {

constexpr CostlyReadings kCheap = {};
constexpr CostlyReadings kPcie = {.pcie = true};

constexpr std::array<MetricTypeInfo, 10> kMetricTypes = {{
    {MetricType::kGpuUtilization, "gpu_utilization", "%", false, true, true, kCheap,
     GpuReading::kUtilization, "Share of time in which a kernel ran: busy, not full"},
    {MetricType::kMemoryUtilization, "memory_utilization", "%", false, true, true, kCheap,
     GpuReading::kMemoryUtilization, "Share of time in which the memory controller was busy"},
    {MetricType::kMemoryUsedMib, "memory_used_mib", "MiB", true, false, true, kCheap,
     GpuReading::kMemoryUsedMib, "VRAM in use, the driver's reserve not counted"},
    {MetricType::kMemoryUsedPercent, "memory_used_percent", "%", false, true, true, kCheap,
     GpuReading::kMemoryUsedPercent, "VRAM in use, of the total"},
    {MetricType::kTemperature, "temperature", "C", false, false, false, kCheap,
     GpuReading::kTemperature, "Temperature of the GPU's die"},
    {MetricType::kPowerDraw, "power_draw", "W", true, false, true, kCheap, GpuReading::kPower,
     "Power drawn by the board"},
    {MetricType::kPcieTx, "pcie_tx_kbps", "KB/s", true, false, true, kPcie, GpuReading::kPcieTx,
     "PCIe throughput from the GPU"},
    {MetricType::kPcieRx, "pcie_rx_kbps", "KB/s", true, false, true, kPcie, GpuReading::kPcieRx,
     "PCIe throughput to the GPU"},
    {MetricType::kNvlinkTx, "nvlink_tx_mbps", "MiB/s", true, false, true, kCheap,
     GpuReading::kNvlinkTx, "NVLink throughput sent, all links"},
    {MetricType::kNvlinkRx, "nvlink_rx_mbps", "MiB/s", true, false, true, kCheap,
     GpuReading::kNvlinkRx, "NVLink throughput received, all links"},
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
