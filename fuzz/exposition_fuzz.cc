// Metrics pages of untrusted servers.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/engines.h"
#include "fuzz_assert.h"
#include "page/prometheus_text.h"

namespace gpuscaler {
namespace {

bool LiesIn(absl::string_view part, absl::string_view page) {
  return part.data() >= page.data() && part.data() + part.size() <= page.data() + page.size();
}

void CheckSample(const ExpositionSample& sample, absl::string_view page) {
  FUZZ_ASSERT(!sample.name.empty() && LiesIn(sample.name, page));
  for (const ExpositionLabel& label : sample.labels) {
    FUZZ_ASSERT(!label.name.empty() && LiesIn(label.name, page));
    FUZZ_ASSERT(LiesIn(label.escaped_value, page));
    FUZZ_ASSERT(Unescaped(label.escaped_value).size() <= label.escaped_value.size());
  }
}

bool CanBe(std::optional<double> number) { return !number.has_value() || *number >= 0; }

void CheckReading(const ModelReading& reading) {
  FUZZ_ASSERT(CanBe(reading.waiting) && CanBe(reading.running) && CanBe(reading.limit));
  FUZZ_ASSERT(CanBe(reading.kv_cache_usage_ratio) && reading.kv_cache_usage_ratio.value_or(0) <= 1);
  for (const ModelNumber counter : kModelCounters) FUZZ_ASSERT(CanBe(reading.*counter));
  for (const ModelHistogram field : kModelHistograms) {
    const auto& histogram = reading.*field;
    if (!histogram.has_value()) continue;
    FUZZ_ASSERT(!histogram->buckets.empty() && std::isinf(histogram->buckets.back().not_above));
    FUZZ_ASSERT(std::ranges::is_sorted(histogram->buckets, {}, &Histogram::Bucket::not_above));
  }
}

void CheckPage(absl::string_view page, ExpositionFormat format) {
  const absl::Status all = ReadPage(
      page, format, [](absl::string_view) { return true; },
      [page](const ExpositionSample& sample) { CheckSample(sample, page); });
  const absl::Status none = ReadPage(
      page, format, [](absl::string_view) { return false; },
      [](const ExpositionSample&) { std::abort(); });
  FUZZ_ASSERT(all == none);
  Recognise(page, format).IgnoreError();
  for (const Engine* engine : Engines()) {
    const auto reading = engine->read(page, {.format = format, .histograms = true});
    FUZZ_ASSERT(!reading.ok() || all.ok() || engine == &Ollama());
    if (!reading.ok()) continue;
    CheckReading(*ReadingOf(*reading, ""));
    for (const ModelReading& model : reading->models) {
      CheckReading(ReadingOf(*reading, model.model).value());
    }
  }
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view page(reinterpret_cast<const char*>(data), size);
  gpuscaler::CheckPage(page, gpuscaler::ExpositionFormat::kText);
  gpuscaler::CheckPage(page, gpuscaler::ExpositionFormat::kOpenMetrics);
  return 0;
}
