#include "fleet/gpu_wire.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// A number's field in both forms.
template <typename T>
struct Reading {
  int number;  // the field's
  std::optional<T> GpuSample::*member;
  bool (wire::Gpu::*has)() const;
  T (wire::Gpu::*get)() const;
  void (wire::Gpu::*set)(T);
};

// The field has one name in both forms.
#define GPU_NUMBER(Field, field)                                                  \
  {                                                                               \
    wire::Gpu::k##Field##FieldNumber, &GpuSample::field, &wire::Gpu::has_##field, \
        &wire::Gpu::field, &wire::Gpu::set_##field                                \
  }

constexpr std::array<Reading<double>, 12> kDoubles = {{
    GPU_NUMBER(UtilizationPercent, utilization_percent),
    GPU_NUMBER(MemoryUtilizationPercent, memory_utilization_percent),
    GPU_NUMBER(TemperatureCelsius, temperature_celsius),
    GPU_NUMBER(PowerWatts, power_watts),
    GPU_NUMBER(PowerLimitWatts, power_limit_watts),
    GPU_NUMBER(PcieTxKbps, pcie_tx_kbps),
    GPU_NUMBER(PcieRxKbps, pcie_rx_kbps),
    GPU_NUMBER(NvlinkTxMbps, nvlink_tx_mbps),
    GPU_NUMBER(NvlinkRxMbps, nvlink_rx_mbps),
    GPU_NUMBER(SmActivityPercent, sm_activity_percent),
    GPU_NUMBER(DramActivityPercent, dram_activity_percent),
    GPU_NUMBER(TensorActivityPercent, tensor_activity_percent),
}};

constexpr std::array<Reading<int64_t>, 3> kIntegers = {{
    GPU_NUMBER(MemoryUsedBytes, memory_used_bytes),
    GPU_NUMBER(MemoryTotalBytes, memory_total_bytes),
    GPU_NUMBER(EccUncorrectedErrors, ecc_uncorrected_errors),
}};

constexpr std::array<Reading<uint64_t>, 1> kBits = {{
    GPU_NUMBER(ThrottleReasons, throttle_reasons),
}};

#undef GPU_NUMBER

constexpr std::array<std::pair<GpuField, wire::Gap::Field>, 14> kGapFields = {{
    {GpuField::kUtilization, wire::Gap::UTILIZATION},
    {GpuField::kMemoryUtilization, wire::Gap::MEMORY_UTILIZATION},
    {GpuField::kMemory, wire::Gap::MEMORY},
    {GpuField::kTemperature, wire::Gap::TEMPERATURE},
    {GpuField::kPower, wire::Gap::POWER},
    {GpuField::kPowerLimit, wire::Gap::POWER_LIMIT},
    {GpuField::kPcie, wire::Gap::PCIE},
    {GpuField::kNvlink, wire::Gap::NVLINK},
    {GpuField::kSmActivity, wire::Gap::SM_ACTIVITY},
    {GpuField::kDramActivity, wire::Gap::DRAM_ACTIVITY},
    {GpuField::kTensorActivity, wire::Gap::TENSOR_ACTIVITY},
    {GpuField::kProcesses, wire::Gap::PROCESSES},
    {GpuField::kEcc, wire::Gap::ECC},
    {GpuField::kThrottle, wire::Gap::THROTTLE},
}};

constexpr std::array<std::pair<SharedBy, wire::Holders::SharedBy>, 3> kSharedBy = {{
    {SharedBy::kEqually, wire::Holders::EQUALLY},
    {SharedBy::kParts, wire::Holders::PARTS},
    {SharedBy::kProcesses, wire::Holders::PROCESSES},
}};

template <typename Readings>
void EncodeReadings(const Readings& readings, const GpuSample& before, const GpuSample& gpu,
                    wire::Gpu& message) {
  for (const auto& reading : readings) {
    const auto& value = gpu.*reading.member;
    if (value == before.*reading.member) continue;
    if (value) {
      (message.*reading.set)(*value);
    } else {
      message.add_emptied(static_cast<uint32_t>(reading.number));
    }
  }
}

template <typename Readings>
void DecodeReadings(const Readings& readings, const wire::Gpu& message, GpuSample& gpu) {
  for (const auto& reading : readings) {
    if ((message.*reading.has)()) gpu.*reading.member = (message.*reading.get)();
  }
}

template <typename Readings>
void Empty(const Readings& readings, uint32_t number, GpuSample& gpu) {
  for (const auto& reading : readings) {
    if (static_cast<uint32_t>(reading.number) == number) (gpu.*reading.member).reset();
  }
}

void EncodeProcesses(const std::vector<GpuProcess>& processes, wire::Processes& message) {
  for (const GpuProcess& process : processes) {
    wire::Process& added = *message.add_processes();
    added.set_pid(process.pid);
    if (process.memory_bytes) added.set_memory_bytes(*process.memory_bytes);
    if (process.utilization_percent) added.set_utilization_percent(*process.utilization_percent);
  }
}

std::vector<GpuProcess> DecodeProcesses(const wire::Processes& message) {
  std::vector<GpuProcess> processes;
  processes.reserve(static_cast<size_t>(message.processes_size()));
  for (const wire::Process& process : message.processes()) {
    GpuProcess& added = processes.emplace_back(GpuProcess{.pid = process.pid()});
    if (process.has_memory_bytes()) added.memory_bytes = process.memory_bytes();
    if (process.has_utilization_percent())
      added.utilization_percent = process.utilization_percent();
  }
  return processes;
}

void EncodeGaps(const std::vector<GpuGap>& gaps, wire::Gaps& message) {
  for (const GpuGap& gap : gaps) {
    wire::Gap& added = *message.add_gaps();
    added.set_field(ToWireEnum(kGapFields, gap.field));
    added.set_reason(gap.reason == GpuGap::Reason::kNotRequested ? wire::Gap::NOT_WANTED
                                                                 : wire::Gap::FAILED);
    added.set_detail(gap.detail);
  }
}

// A gap of a field that this version does not have is dropped.
std::vector<GpuGap> DecodeGaps(const wire::Gaps& message) {
  std::vector<GpuGap> gaps;
  for (const wire::Gap& gap : message.gaps()) {
    const std::optional<GpuField> field = FromWireEnum(kGapFields, gap.field());
    if (!field) continue;
    gaps.push_back({.field = *field,
                    .reason = gap.reason() == wire::Gap::NOT_WANTED ? GpuGap::Reason::kNotRequested
                                                                    : GpuGap::Reason::kFailed,
                    .detail = gap.detail()});
  }
  return gaps;
}

void EncodeRun(const SteadyRun& run, wire::SteadyRun& message) {
  message.set_from_us(ToWire(run.from));
  message.set_until_us(ToWire(run.until));
}

SteadyRun DecodeRun(const wire::SteadyRun& message, const WriterClock& clock) {
  return {.from = clock.ReaderTime(message.from_us()),
          .until = clock.ReaderTime(message.until_us())};
}

void EncodeMemory(const SteadyMemory& memory, wire::SteadyMemory& message) {
  if (memory.high_since != absl::InfinitePast())
    message.set_high_since_us(ToWire(memory.high_since));
  if (memory.current != SteadyRun()) EncodeRun(memory.current, *message.mutable_current());
  for (const SteadyRun& run : memory.past) EncodeRun(run, *message.add_past());
  message.set_lowest_percent(memory.lowest_percent);
  message.set_highest_percent(memory.highest_percent);
}

bool IsPercent(double value) { return value >= 0 && value <= 100; }  // false for NaN
bool IsRun(const SteadyRun& run) { return run.from <= run.until; }

// Implausible memory becomes unknown.
SteadyMemory DecodeMemory(const wire::SteadyMemory& message, const WriterClock& clock) {
  SteadyMemory memory;
  if (message.has_high_since_us()) memory.high_since = clock.ReaderTime(message.high_since_us());
  if (message.has_current()) memory.current = DecodeRun(message.current(), clock);
  for (const wire::SteadyRun& run : message.past()) memory.past.push_back(DecodeRun(run, clock));
  memory.lowest_percent = message.lowest_percent();
  memory.highest_percent = message.highest_percent();
  if (!IsPercent(memory.lowest_percent) || !IsPercent(memory.highest_percent)) return {};
  if (!IsRun(memory.current) || !std::ranges::all_of(memory.past, IsRun)) return {};
  return memory;
}

void EncodeHolders(const GpuSample& gpu, wire::Holders& message) {
  message.set_shared_by(ToWireEnum(kSharedBy, gpu.shared_by));
  for (const GpuHolder& holder : gpu.holders) {
    wire::Holder& added = *message.add_holders();
    added.set_pod(static_cast<uint32_t>(holder.pod));
    added.set_container(holder.container);
    added.set_share(holder.share);
    added.set_is_possible(holder.is_possible);
  }
}

// Returns true if the shares add up to 1, or to less by rounding.
bool AreShares(const wire::Holders& message) {
  constexpr double kMaxSum = 1 + 1e-6;
  double sum = 0;
  for (const wire::Holder& holder : message.holders()) {
    if (!(holder.share() >= 0)) return false;  // also NaN
    sum += holder.share();
  }
  return sum <= kMaxSum;
}

// If the shares are invalid, all holders get equal shares.
std::vector<GpuHolder> DecodeHolders(const wire::Holders& message) {
  std::vector<GpuHolder> holders;
  const bool are_shares = AreShares(message);
  for (const wire::Holder& holder : message.holders()) {
    holders.push_back({.pod = static_cast<int>(holder.pod()),
                       .container = holder.container(),
                       .share = are_shares ? holder.share() : 1.0 / message.holders_size(),
                       .is_possible = holder.is_possible()});
  }
  return holders;
}

// Encodes everything except identity and memory.
void EncodeState(const GpuSample& before, const GpuSample& gpu, wire::Gpu& message) {
  EncodeReadings(kDoubles, before, gpu, message);
  EncodeReadings(kIntegers, before, gpu, message);
  EncodeReadings(kBits, before, gpu, message);
  if (gpu.processes != before.processes) {
    if (gpu.processes) {
      EncodeProcesses(*gpu.processes, *message.mutable_processes());
    } else {
      message.add_emptied(wire::Gpu::kProcessesFieldNumber);
    }
  }
  if (gpu.gaps != before.gaps) EncodeGaps(gpu.gaps, *message.mutable_gaps());
  if (gpu.holders != before.holders || gpu.shared_by != before.shared_by) {
    EncodeHolders(gpu, *message.mutable_holders());
  }
  if (gpu.in_use != before.in_use) message.set_in_use(gpu.in_use);
  if (gpu.is_free != before.is_free) {
    if (gpu.is_free) {
      message.set_is_free(*gpu.is_free);
    } else {
      message.add_emptied(wire::Gpu::kIsFreeFieldNumber);
    }
  }
  if (gpu.held_since == before.held_since) return;
  if (gpu.held_since == absl::InfinitePast()) {
    message.add_emptied(wire::Gpu::kHeldSinceUsFieldNumber);
  } else {
    message.set_held_since_us(ToWire(gpu.held_since));
  }
}

}  // namespace

int64_t ToWire(absl::Time at) { return absl::ToUnixMicros(at); }
absl::Time FromWire(int64_t microseconds) { return absl::FromUnixMicros(microseconds); }

bool IsSameGpu(const GpuSample& a, const GpuSample& b) {
  return a.uuid == b.uuid && a.parent_uuid == b.parent_uuid && a.name == b.name &&
         a.index == b.index && a.link_group == b.link_group;
}

GpuSample IdentityOf(GpuSample gpu) {
  return {.uuid = std::move(gpu.uuid),
          .parent_uuid = std::move(gpu.parent_uuid),
          .name = std::move(gpu.name),
          .index = gpu.index,
          .link_group = std::move(gpu.link_group),
          .is_free = gpu.is_free};
}

void EncodeGpu(const GpuSample& gpu, wire::Gpu& message) {
  message.set_uuid(gpu.uuid);
  message.set_parent_uuid(gpu.parent_uuid);
  message.set_name(gpu.name);
  message.set_index(static_cast<uint32_t>(gpu.index));
  message.set_link_group(gpu.link_group);
  EncodeState(GpuSample{}, gpu, message);
  if (gpu.steady_memory != SteadyMemory()) {
    EncodeMemory(gpu.steady_memory, *message.mutable_steady_memory());
  }
}

bool EncodeGpuChange(const GpuSample& before, const GpuSample& gpu, absl::Time taken_at,
                     wire::Gpu& message) {
  EncodeState(before, gpu, message);
  if (gpu.steady_memory != ExpectedMemory(before, gpu, taken_at)) {
    EncodeMemory(gpu.steady_memory, *message.mutable_steady_memory());
  }
  return message.ByteSizeLong() > 0;
}

GpuSample DecodeGpu(const wire::Gpu& message, const WriterClock& clock) {
  GpuSample gpu{.uuid = message.uuid(),
                .parent_uuid = message.parent_uuid(),
                .name = message.name(),
                .index = static_cast<int>(message.index()),
                .link_group = message.link_group()};
  DecodeGpuChange(message, clock, gpu);
  return gpu;
}

void DecodeGpuChange(const wire::Gpu& message, const WriterClock& clock, GpuSample& gpu) {
  DecodeReadings(kDoubles, message, gpu);
  DecodeReadings(kIntegers, message, gpu);
  DecodeReadings(kBits, message, gpu);
  for (const uint32_t number : message.emptied()) {
    Empty(kDoubles, number, gpu);
    Empty(kIntegers, number, gpu);
    Empty(kBits, number, gpu);
    if (number == wire::Gpu::kProcessesFieldNumber) gpu.processes.reset();
    if (number == wire::Gpu::kHeldSinceUsFieldNumber) gpu.held_since = absl::InfinitePast();
    if (number == wire::Gpu::kIsFreeFieldNumber) gpu.is_free.reset();
  }
  if (message.has_processes()) gpu.processes = DecodeProcesses(message.processes());
  if (message.has_gaps()) gpu.gaps = DecodeGaps(message.gaps());
  if (message.has_holders()) {
    gpu.holders = DecodeHolders(message.holders());
    gpu.shared_by =
        FromWireEnum(kSharedBy, message.holders().shared_by()).value_or(SharedBy::kEqually);
  }
  if (message.has_in_use()) gpu.in_use = message.in_use();
  if (message.has_is_free()) gpu.is_free = message.is_free();
  if (message.has_held_since_us()) gpu.held_since = clock.ReaderTime(message.held_since_us());
  if (message.has_steady_memory()) gpu.steady_memory = DecodeMemory(message.steady_memory(), clock);
}

SteadyMemory ExpectedMemory(const GpuSample& before, const GpuSample& gpu, absl::Time at) {
  if (!gpu.in_use) return {};
  const bool same_holder = before.in_use && before.held_since == gpu.held_since;
  SteadyMemory memory = same_holder ? before.steady_memory : SteadyMemory();
  const std::optional<double> percent = MemoryUsedPercent(gpu);
  if (percent && IsPercent(*percent)) memory.Add(at, *percent);
  return memory;
}

}  // namespace gpuscaler
