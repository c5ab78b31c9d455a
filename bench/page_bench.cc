// The cost of parsing a metrics page, compared to only finding its line feeds.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/engines.h"
#include "engine_exposition.h"
#include "page/gauge_sum.h"
#include "page/prometheus_text.h"
#include "page/series_queries.h"

namespace gpuscaler {
namespace {

constexpr size_t kPageBytes = size_t{1} << 20;

std::string Page() { return EngineExpositionOf(kPageBytes); }

void FindLineFeeds(const std::string& page) {
  const char* at = page.data();
  const char* const end = at + page.size();
  size_t lines = 0;
  while ((at = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at))))) {
    ++lines;
    if (++at == end) break;
  }
  benchmark::DoNotOptimize(lines);
}

void BM_FindLineFeeds(benchmark::State& state) {
  const std::string page = Page();
  for (auto _ : state) FindLineFeeds(page);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(page.size()));
}
BENCHMARK(BM_FindLineFeeds)->Unit(benchmark::kMicrosecond);

void BM_ReadPage(benchmark::State& state) {
  const std::string page = Page();
  for (auto _ : state) {
    double sum = 0;
    const absl::Status status = ReadPage(
        page, ExpositionFormat::kText,
        [](absl::string_view name) { return name == "vllm:num_requests_waiting"; },
        [&](const ExpositionSample& sample) { sum += sample.value; });
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(page.size()));
}
BENCHMARK(BM_ReadPage)->Unit(benchmark::kMicrosecond);

void BM_ReadVllm(benchmark::State& state, bool histograms) {
  const std::string page = Page();
  for (auto _ : state) {
    auto reading = Vllm().read(page, {.histograms = histograms});
    if (!reading.ok()) return state.SkipWithError(reading.status().ToString().c_str());
    benchmark::DoNotOptimize(reading);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(page.size()));
}
// A gateway's page with an equal number of metrics for each pool.
std::string GatewayPageOf(size_t metrics) {
  std::string page;
  for (size_t metric = 0; metric < metrics; ++metric) {
    for (int pool = 0; page.size() < kPageBytes * (metric + 1) / metrics; ++pool) {
      absl::StrAppend(&page, "gateway_metric_", metric, "{namespace=\"team-a\",pool=\"pool-", pool,
                      "\",priority=\"1\"} ", pool, ".0\n");
    }
  }
  return page;
}

// Triggers on one page, each on a different pool.
void BM_PickSeries(benchmark::State& state, size_t metrics) {
  const std::string page = GatewayPageOf(metrics);
  const auto count = static_cast<size_t>(state.range(0));
  std::vector<MetricSelector> selectors;
  for (size_t i = 0; i < count; ++i) {
    selectors.push_back(*ParseMetricSelector(
        absl::StrCat("gateway_metric_", i % metrics, "{pool=\"pool-", i, "\"}")));
  }
  std::vector<GaugeSum> sums(count);
  std::vector<SeriesQuery> queries;
  for (size_t i = 0; i < count; ++i) {
    queries.push_back({.selector = &selectors[i], .consumer = &sums[i], .tenant = "team-a"});
  }
  for (auto _ : state) {
    for (const absl::Status& status : ReadSeries(page, ExpositionFormat::kText, queries)) {
      if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(page.size()));
}
BENCHMARK_CAPTURE(BM_PickSeries, of_100_metrics, 100)
    ->Arg(1)
    ->Arg(10)
    ->Arg(50)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_PickSeries, of_one_metric, 1)
    ->Arg(1)
    ->Arg(10)
    ->Arg(50)
    ->Unit(benchmark::kMicrosecond);

BENCHMARK_CAPTURE(BM_ReadVllm, gauges_and_counters, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_ReadVllm, histograms_too, true)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace gpuscaler

BENCHMARK_MAIN();
