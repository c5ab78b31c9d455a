// Metrics pages of untrusted servers. An input may have lines that stand for many.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/engines.h"
#include "exposition_pages.h"
#include "fuzz_assert.h"
#include "page/prometheus_text.h"

namespace gpuscaler {
namespace {

bool LiesIn(absl::string_view part, absl::string_view page) {
  return part.data() >= page.data() && part.data() + part.size() <= page.data() + page.size();
}

void CheckSample(const ExpositionSample& sample, absl::string_view page) {
  FUZZ_ASSERT(!sample.name.empty() && LiesIn(sample.name, page));
  FUZZ_ASSERT(sample.labels.size() <= kMaxLabels);
  for (const ExpositionLabel& label : sample.labels) {
    FUZZ_ASSERT(!label.name.empty() && LiesIn(label.name, page));
    FUZZ_ASSERT(LiesIn(label.escaped_value, page));
    FUZZ_ASSERT(Unescaped(label.escaped_value).size() <= label.escaped_value.size());
  }
}

bool CanBe(std::optional<double> number) {
  return !number.has_value() || (*number >= 0 && std::isfinite(*number));
}

void CheckHistogram(const Histogram& histogram) {
  using Bucket = Histogram::Bucket;
  FUZZ_ASSERT(!histogram.buckets.empty() && histogram.buckets.size() <= kMaxBuckets);
  FUZZ_ASSERT(histogram.buckets.back().not_above == std::numeric_limits<double>::infinity());
  FUZZ_ASSERT(std::ranges::adjacent_find(histogram.buckets, std::ranges::greater_equal(),
                                         &Bucket::not_above) == histogram.buckets.end());
  for (const Bucket& bucket : histogram.buckets) FUZZ_ASSERT(CanBe(bucket.count));
}

void CheckReading(const ModelReading& reading) {
  FUZZ_ASSERT(CanBe(reading.waiting) && CanBe(reading.running) && CanBe(reading.limit));
  FUZZ_ASSERT(CanBe(reading.kv_cache_usage_ratio) && reading.kv_cache_usage_ratio.value_or(0) <= 1);
  FUZZ_ASSERT(std::isfinite(reading.counters_began.value_or(0)));
  for (const ModelNumber counter : kModelCounters) FUZZ_ASSERT(CanBe(reading.*counter));
  for (const ModelHistogram histogram : kModelHistograms) {
    if ((reading.*histogram).has_value()) CheckHistogram(*(reading.*histogram));
  }
}

void CheckModels(const EngineReading& reading, const Engine& engine) {
  FUZZ_ASSERT(reading.models.size() <= kMaxModels);
  CheckReading(*ReadingOf(reading, ""));
  for (const ModelReading& model : reading.models) {
    CheckReading(ReadingOf({.models = {model}}, model.model).value());
  }
  FUZZ_ASSERT(&engine == &Ollama() ||
              std::ranges::adjacent_find(reading.models, std::ranges::greater_equal(),
                                         &ModelReading::model) == reading.models.end());
}

bool HasMark(const Engine& engine, const std::vector<absl::string_view>& names) {
  return engine.exposition != nullptr && std::ranges::any_of(names, [&](absl::string_view name) {
           return IsMarked(*engine.exposition, name);
         });
}

// A page that begins as JSON is Ollama's. Any other is the first engine's with a mark on it.
void CheckRecognised(absl::string_view page, ExpositionFormat format, const absl::Status& all,
                     const std::vector<absl::string_view>& names) {
  const auto engine = Recognise(page, format);
  if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(page), "{")) {
    FUZZ_ASSERT(!engine.ok() || *engine == &Ollama());
  } else if (!all.ok()) {
    FUZZ_ASSERT(engine.status() == all);
  } else if (engine.ok()) {
    FUZZ_ASSERT(*engine == *std::ranges::find_if(
                               Engines(), [&](const Engine* e) { return HasMark(*e, names); }));
  } else {
    FUZZ_ASSERT(absl::IsNotFound(engine.status()));
    for (const Engine* each : Engines()) FUZZ_ASSERT(!HasMark(*each, names));
  }
}

void CheckPage(absl::string_view page, ExpositionFormat format) {
  std::vector<absl::string_view> names;
  const auto add_name = [&names](absl::string_view name) {
    names.push_back(name);
    return true;
  };
  const absl::Status all = ReadPage(page, format, add_name, [page](const ExpositionSample& sample) {
    CheckSample(sample, page);
  });
  const absl::Status none = ReadPage(
      page, format, [](absl::string_view) { return false; },
      [](const ExpositionSample&) { std::abort(); });
  FUZZ_ASSERT(all == none);
  CheckRecognised(page, format, all, names);
  for (const Engine* engine : Engines()) {
    const auto reading = engine->read(page, {.format = format, .histograms = true});
    FUZZ_ASSERT(!reading.ok() || all.ok() || engine == &Ollama());
    if (reading.ok()) CheckModels(*reading, *engine);
  }
}

// Returns a line with a metric of an engine's table.
std::string KnownLine(std::mt19937& random) {
  constexpr const char* kValues[] = {"0", "1", "0.5", "350.0", "NaN", "-1", "1.7e308"};
  constexpr const char* kBounds[] = {"0.25", "2.5", "+Inf", "-Inf", "#"};
  constexpr const char* kModels[] = {"m", "n", "#"};
  const Engine* engine = &Ollama();
  while (engine->exposition == nullptr) engine = Engines()[random() % Engines().size()];
  const EngineExposition& table = *engine->exposition;
  std::string labels = absl::StrCat(table.model_label.empty() ? "model" : table.model_label, "=\"",
                                    kModels[random() % std::size(kModels)], "\"");
  const size_t row = random() % (table.numbers.size() + table.histograms.size());
  std::string name;
  if (row < table.numbers.size()) {
    const NumberMapping& number = table.numbers[row];
    name = std::string(number.name);
    if (!number.label.empty())
      absl::StrAppend(&labels, ",", number.label, "=\"", number.value, "\"");
  } else {
    name = absl::StrCat(table.histograms[row - table.numbers.size()].name, "_bucket");
    absl::StrAppend(&labels, ",le=\"", kBounds[random() % std::size(kBounds)], "\"");
  }
  return absl::StrCat(name, "{", labels, "} ", kValues[random() % std::size(kValues)]);
}

}  // namespace
}  // namespace gpuscaler

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  std::mt19937 random(seed);
  const size_t limit = random() % 2 == 0 ? gpuscaler::kMaxModels : gpuscaler::kMaxBuckets;
  const std::string line = gpuscaler::MaybeRepeated(gpuscaler::KnownLine(random), limit, random);
  return gpuscaler::MutateOrPrepend(line, data, size, max_size, random);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string page = gpuscaler::ExpandedLines({reinterpret_cast<const char*>(data), size});
  gpuscaler::CheckPage(page, gpuscaler::FormatOf(page));
  return 0;
}
