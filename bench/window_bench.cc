// The cost of windows over counters in decisions: one point for each second of the look-back, each
// over the window before it. All points take one pass, so twice the time costs twice.
#include <benchmark/benchmark.h>

#include <limits>

#include "engine/model_timeline.h"
#include "engine/number_timeline.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kGap = absl::Seconds(5);
const absl::Time kStart = absl::FromUnixSeconds(1'767'225'600);

// Half of the stored time is the look-back, half the window.
EngineQuery QueryOver(int64_t seconds, EngineMetric metric) {
  return {.metric = metric,
          .window = absl::Seconds(seconds / 2),
          .look_back = absl::Seconds(seconds / 2)};
}

void BM_Rate(benchmark::State& state) {
  NumberTimeline timeline(/*is_rate=*/true);
  for (int64_t i = 0; i <= state.range(0); ++i) {
    timeline.AddPoint(CounterPoint{.instant = {.at = kStart + absl::Seconds(i)},
                                   .value = 10.0 * static_cast<double>(i)});
  }
  const EngineQuery query = QueryOver(state.range(0), {});
  for (auto _ : state) {
    benchmark::DoNotOptimize(timeline.Answer(query, kStart + absl::Seconds(state.range(0)), kGap));
  }
}
BENCHMARK(BM_Rate)->Arg(150)->Arg(1200)->Arg(7200)->Unit(benchmark::kMicrosecond);

// vLLM's buckets of the time to first token.
Histogram FirstTokens(int64_t second) {
  Histogram histogram;
  for (int bucket = 1; bucket <= 22; ++bucket) {
    histogram.buckets.push_back(
        {.not_above = 0.001 * bucket * bucket, .count = static_cast<double>(second * bucket)});
  }
  histogram.buckets.back().not_above = std::numeric_limits<double>::infinity();
  return histogram;
}

void BM_FirstTokenP95(benchmark::State& state) {
  ModelTimeline timeline;
  for (int64_t i = 0; i <= state.range(0); ++i) {
    timeline.AddReading(kStart + absl::Seconds(i),
                        {.waiting = 1, .running = 1, .first_token_seconds = FirstTokens(i)});
  }
  const EngineQuery query = QueryOver(state.range(0), EngineMetric::kTimeToFirstTokenMs);
  for (auto _ : state) {
    benchmark::DoNotOptimize(timeline.Points(query, kStart + absl::Seconds(state.range(0)), kGap));
  }
}
BENCHMARK(BM_FirstTokenP95)->Arg(150)->Arg(1200)->Arg(7200)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace gpuscaler

BENCHMARK_MAIN();
