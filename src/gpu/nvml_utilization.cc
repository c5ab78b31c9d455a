#include "gpu/nvml_utilization.h"

#include <algorithm>
#include <array>

namespace gpuscaler::nvml {
namespace {

constexpr unsigned kRoom = 512;  // drivers keep about 100 samples

}  // namespace

std::optional<double> MeanUtilization::SinceLastReading(const NvmlFunctions& calls, Device device) {
  std::array<Sample, kRoom> samples;
  unsigned count = kRoom;
  int value_type = 0;
  if (Call(calls.samples, device, type_, newest_usec_, &value_type, &count, samples.data()) !=
      kSuccess) {
    newest_usec_ = 0;  // none is newer, never again if the host's clock was set back: start anew
    return std::nullopt;
  }
  return Mean({samples.data(), std::min(count, kRoom)});
}

std::optional<double> MeanUtilization::Mean(absl::Span<const Sample> samples) {
  uint64_t newest = newest_usec_;
  for (const Sample& sample : samples) newest = std::max(newest, sample.usec);
  uint64_t from = newest_usec_;
  if (from == 0 && newest > kSecondUsec) from = newest - kSecondUsec;
  newest_usec_ = newest;
  double sum = 0;
  int used = 0;
  for (const Sample& sample : samples) {
    const uint32_t percent = sample.value.as_uint32;  // "unsigned int" in nvml.h
    if (sample.usec <= from || percent > 100) continue;
    sum += percent;
    ++used;
  }
  if (used == 0) return std::nullopt;
  return sum / used;
}

}  // namespace gpuscaler::nvml
