// Answers of a Prometheus, and the usage that they add up to.
#include <cmath>
#include <cstdint>

#include "cost/counter_usage.h"
#include "fuzz_assert.h"

namespace gpuscaler {
namespace {

void CheckRangeAnswer(absl::string_view json) {
  const auto series = ParseRangeAnswer(json);
  if (!series.ok()) {
    FUZZ_ASSERT(series.status().code() == absl::StatusCode::kInvalidArgument);
    return;
  }
  for (const RangeSeries& each : *series) {
    absl::Time before = absl::InfinitePast();
    for (const RangePoint& point : each.points) {
      FUZZ_ASSERT(point.at > before && std::isfinite(point.value) && point.value >= 0);
      before = point.at;
    }
  }
  constexpr int64_t kSteps = 12;
  CounterUsage counters(absl::FromUnixSeconds(1'767'225'600), absl::Minutes(5), absl::Hours(1));
  if (!counters.Add(kSteps, *series).ok()) return;
  counters.Finish();
  for (const Usage& usage : counters.usage()) {
    for (const GpuState state : kAllGpuStates) FUZZ_ASSERT(usage.times[state] >= 0);
  }
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckRangeAnswer({reinterpret_cast<const char*>(data), size});
  return 0;
}
