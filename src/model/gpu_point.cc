#include "model/gpu_point.h"

namespace gpuscaler {
namespace {

struct Row {
  GpuReading reading;
  GpuField field;
  std::optional<double> (*read)(const GpuSample&);
};

constexpr std::array<Row, kGpuReadings> kRows = {{
    {GpuReading::kUtilization, GpuField::kUtilization,
     [](const GpuSample& gpu) { return gpu.utilization_percent; }},
    {GpuReading::kMemoryUtilization, GpuField::kMemoryUtilization,
     [](const GpuSample& gpu) { return gpu.memory_utilization_percent; }},
    {GpuReading::kMemoryUsedMib, GpuField::kMemory,
     [](const GpuSample& gpu) -> std::optional<double> {
       if (!gpu.memory_used_bytes) return std::nullopt;
       return static_cast<double>(*gpu.memory_used_bytes) / (1 << 20);
     }},
    {GpuReading::kMemoryUsedPercent, GpuField::kMemory, MemoryUsedPercent},
    {GpuReading::kTemperature, GpuField::kTemperature,
     [](const GpuSample& gpu) { return gpu.temperature_celsius; }},
    {GpuReading::kPower, GpuField::kPower, [](const GpuSample& gpu) { return gpu.power_watts; }},
    {GpuReading::kPcieTx, GpuField::kPcie, [](const GpuSample& gpu) { return gpu.pcie_tx_kbps; }},
    {GpuReading::kPcieRx, GpuField::kPcie, [](const GpuSample& gpu) { return gpu.pcie_rx_kbps; }},
    {GpuReading::kNvlinkTx, GpuField::kNvlink,
     [](const GpuSample& gpu) { return gpu.nvlink_tx_mbps; }},
    {GpuReading::kNvlinkRx, GpuField::kNvlink,
     [](const GpuSample& gpu) { return gpu.nvlink_rx_mbps; }},
    {GpuReading::kSmActivity, GpuField::kSmActivity,
     [](const GpuSample& gpu) { return gpu.sm_activity_percent; }},
    {GpuReading::kDramActivity, GpuField::kDramActivity,
     [](const GpuSample& gpu) { return gpu.dram_activity_percent; }},
    {GpuReading::kTensorActivity, GpuField::kTensorActivity,
     [](const GpuSample& gpu) { return gpu.tensor_activity_percent; }},
}};

constexpr bool RowsAreInTheOrderOfTheEnum() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<size_t>(kRows[i].reading) != i) return false;
  }
  return true;
}
static_assert(RowsAreInTheOrderOfTheEnum(), "a reading's row is at the enumerator's index");

}  // namespace

GpuField FieldOf(GpuReading reading) { return kRows[static_cast<size_t>(reading)].field; }

GpuPoint::State GpuPoint::StateIn(const GpuSample& gpu, GpuReading reading, bool read) {
  if (read) return State::kRead;
  const GpuGap* const gap = FindGap(gpu, FieldOf(reading));
  if (gap == nullptr) return State::kUnsupported;
  return gap->reason == GpuGap::Reason::kFailed ? State::kFailed : State::kNotRequested;
}

GpuPoint::GpuPoint(const GpuSample& gpu)
    : held_since_nanos_(gpu.held_since == absl::InfinitePast()
                            ? kInfinitePast
                            : absl::ToUnixNanos(gpu.held_since)) {
  for (const Row& row : kRows) {
    const size_t at = static_cast<size_t>(row.reading);
    const std::optional<double> value = row.read(gpu);
    values_[at] = static_cast<float>(value.value_or(0));
    bits_ |= static_cast<uint32_t>(StateIn(gpu, row.reading, value.has_value())) << (2 * at);
  }
  if (gpu.in_use) bits_ |= kInUse;
}

}  // namespace gpuscaler
