// What reading a page of metrics costs, beside a pass that only looks for its line feeds.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>

#include "engine/engines.h"
#include "engine_page.h"
#include "page/prometheus_text.h"

namespace gpuscaler {
namespace {

constexpr size_t kPageBytes = size_t{1} << 20;

std::string Page() { return EnginePageOf(kPageBytes); }

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
        page, PageFormat::kText,
        [](absl::string_view name) { return name == "vllm:num_requests_waiting"; },
        [&](const PageSample& sample) { sum += sample.value; });
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
BENCHMARK_CAPTURE(BM_ReadVllm, gauges_and_counters, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_ReadVllm, histograms_too, true)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace gpuscaler

BENCHMARK_MAIN();
