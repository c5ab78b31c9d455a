#include "model/gpu_sample.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace gpuscaler {

absl::string_view Name(GpuField field) {
  // In the order of the enum.
  constexpr absl::string_view kNames[] = {"utilization",
                                          "memory_utilization",
                                          "memory",
                                          "temperature",
                                          "power",
                                          "power_limit",
                                          "pcie",
                                          "nvlink",
                                          "sm_activity",
                                          "dram_activity",
                                          "tensor_activity",
                                          "processes",
                                          "ecc",
                                          "throttle"};
  static_assert(std::size(kNames) == static_cast<size_t>(GpuField::kThrottle) + 1);
  return kNames[static_cast<size_t>(field)];
}

std::string Why(const GpuGap& gap) {
  const bool has_detail = gap.reason == GpuGap::Reason::kFailed || !gap.detail.empty();
  return has_detail ? gap.detail : "not read yet: costly, and no trigger had requested it";
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
