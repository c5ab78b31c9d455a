#include "fleet/reading_bounds.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace gpuscaler {
namespace {

// Limits far above existing hardware, and low enough that one GPU cannot pass for a fleet.
struct Range {
  std::optional<double> GpuSample::*member;
  GpuField field;
  double least;
  double most;
  const char* unit;

  bool Has(double value) const { return value >= least && value <= most; }  // false for NaN
};
constexpr std::array<Range, 12> kRanges = {{
    {&GpuSample::utilization_percent, GpuField::kUtilization, 0, 100, "%"},
    {&GpuSample::memory_utilization_percent, GpuField::kMemoryUtilization, 0, 100, "%"},
    // GPUs slow down at about 90 and switch off at about 105; edge nodes may be in the cold.
    {&GpuSample::temperature_celsius, GpuField::kTemperature, -60, 200, "degrees"},
    // The largest announced packages take 3.6 kW.
    {&GpuSample::power_watts, GpuField::kPower, 0, 20e3, "W"},
    {&GpuSample::power_limit_watts, GpuField::kPowerLimit, 0, 20e3, "W"},
    // PCIe 7.0 x16 has 256e6.
    {&GpuSample::pcie_tx_kbps, GpuField::kPcie, 0, 1e9, "KB/s"},
    {&GpuSample::pcie_rx_kbps, GpuField::kPcie, 0, 1e9, "KB/s"},
    // NVLink 6 has 1.8e6 each way.
    {&GpuSample::nvlink_tx_mbps, GpuField::kNvlink, 0, 1e7, "MiB/s"},
    {&GpuSample::nvlink_rx_mbps, GpuField::kNvlink, 0, 1e7, "MiB/s"},
    {&GpuSample::sm_activity_percent, GpuField::kSmActivity, 0, 100, "%"},
    {&GpuSample::dram_activity_percent, GpuField::kDramActivity, 0, 100, "%"},
    {&GpuSample::tensor_activity_percent, GpuField::kTensorActivity, 0, 100, "%"},
}};

// The largest have 0.5 TiB.
constexpr int64_t kMaxMemory = int64_t{16} << 40;

bool IsMemory(int64_t bytes) { return bytes >= 0 && bytes <= kMaxMemory; }
bool IsUtilization(double value) { return value >= 0 && value <= 100; }  // false for NaN

bool HasPlausibleMemory(const GpuSample& gpu) {
  const int64_t total = gpu.memory_total_bytes.value_or(kMaxMemory);
  const int64_t used = gpu.memory_used_bytes.value_or(0);
  return IsMemory(total) && IsMemory(used) && used <= total;
}

bool HasPlausibleErrors(const GpuSample& gpu) {
  return gpu.ecc_uncorrected_errors.value_or(0) >= 0;
}

bool IsPlausibleProcess(const GpuProcess& process) {
  return process.pid >= 0 && IsMemory(process.memory_bytes.value_or(0)) &&
         IsUtilization(process.utilization_percent.value_or(0));
}

bool IsPlausibleGpu(const GpuSample& gpu) {
  const auto is_within = [&gpu](const Range& range) {
    const std::optional<double>& value = gpu.*range.member;
    return !value || range.Has(*value);
  };
  return std::ranges::all_of(kRanges, is_within) && HasPlausibleMemory(gpu) &&
         HasPlausibleErrors(gpu) &&
         (!gpu.processes || std::ranges::all_of(*gpu.processes, IsPlausibleProcess));
}

// The use of a process only divides its GPU, so unknown needs no reason.
void BoundProcesses(std::vector<GpuProcess>& processes) {
  std::erase_if(processes, [](const GpuProcess& process) { return process.pid < 0; });
  for (GpuProcess& process : processes) {
    if (!IsMemory(process.memory_bytes.value_or(0))) process.memory_bytes.reset();
    if (!IsUtilization(process.utilization_percent.value_or(0)))
      process.utilization_percent.reset();
  }
}

// Returns a text on the first implausible reading; empty: none.
std::string BoundReadingsOf(GpuSample& gpu) {
  std::string first;
  const auto add_gap = [&](GpuField field, const std::string& value) {
    const std::string detail = absl::StrCat("its agent reports ", value);
    if (first.empty()) first = absl::StrCat(Name(field), ": ", detail);
    if (FindGap(gpu, field) != nullptr) return;
    gpu.gaps.push_back({.field = field, .reason = GpuGap::Reason::kFailed, .detail = detail});
  };
  for (const Range& range : kRanges) {
    std::optional<double>& value = gpu.*range.member;
    if (!value || range.Has(*value)) continue;
    add_gap(range.field, absl::StrFormat("%g %s", *value, range.unit));
    value.reset();
  }
  if (!HasPlausibleMemory(gpu)) {
    add_gap(GpuField::kMemory, absl::StrCat(gpu.memory_used_bytes.value_or(0), " bytes used of ",
                                            gpu.memory_total_bytes.value_or(kMaxMemory)));
    gpu.memory_used_bytes.reset();
    gpu.memory_total_bytes.reset();
  }
  if (!HasPlausibleErrors(gpu)) {
    add_gap(GpuField::kEcc, absl::StrCat(*gpu.ecc_uncorrected_errors, " errors"));
    gpu.ecc_uncorrected_errors.reset();
  }
  if (gpu.processes) BoundProcesses(*gpu.processes);
  return first;
}

}  // namespace

std::string BoundReadings(NodeSnapshot& snapshot) {
  if (std::ranges::all_of(snapshot.gpus, IsPlausibleGpu)) return "";  // its GPUs stay shared
  std::string first;
  for (GpuSample& gpu : snapshot.gpus.Own()) {
    const std::string implausible = BoundReadingsOf(gpu);
    if (first.empty() && !implausible.empty()) first = absl::StrCat(gpu.uuid, " ", implausible);
  }
  return first;
}

}  // namespace gpuscaler
