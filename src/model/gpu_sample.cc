#include "model/gpu_sample.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace gpuscaler {

absl::string_view Name(GpuField field) {
  switch (field) {
    case GpuField::kUtilization:
      return "utilization";
    case GpuField::kMemoryUtilization:
      return "memory_utilization";
    case GpuField::kMemory:
      return "memory";
    case GpuField::kTemperature:
      return "temperature";
    case GpuField::kPower:
      return "power";
    case GpuField::kPowerLimit:
      return "power_limit";
    case GpuField::kPcie:
      return "pcie";
    case GpuField::kNvlink:
      return "nvlink";
    case GpuField::kProcesses:
      return "processes";
    case GpuField::kEcc:
      return "ecc";
    case GpuField::kThrottle:
      break;
  }
  return "throttle";
}

std::string Why(const GpuGap& gap) {
  return gap.reason == GpuGap::Reason::kNotRequested ? "not read yet: costly, and nobody had asked"
                                                     : gap.detail;
}

std::string UnknownGpuUuid(int index) { return absl::StrCat("GPU-unknown-", index); }

std::optional<double> MemoryUsedPercent(const GpuSample& gpu) {
  if (!gpu.memory_used_bytes || gpu.memory_total_bytes.value_or(0) == 0) return std::nullopt;
  return 100.0 * static_cast<double>(*gpu.memory_used_bytes) /
         static_cast<double>(*gpu.memory_total_bytes);
}

const GpuGap* FindGap(const GpuSample& gpu, GpuField field) {
  const auto found =
      std::ranges::find_if(gpu.gaps, [field](const GpuGap& gap) { return gap.field == field; });
  return found == gpu.gaps.end() ? nullptr : &*found;
}

}  // namespace gpuscaler
