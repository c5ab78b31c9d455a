// Converts an engine's metrics exposition to a reading, with one table row per metric.
#pragma once

#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/engine_reading.h"
#include "page/prometheus_text.h"

namespace gpuscaler {

struct NumberMapping {
  absl::string_view name;  // full name; a counter may have the suffix _total in the exposition
  // Several series of a metric are added: data-parallel ranks, versions, reasons. For
  // kv_cache_usage_ratio, 0-1, the maximum counts: requests of a rank with a full cache wait or are
  // preempted, even if the caches of other ranks are empty. A mean would hide the full cache.
  ModelNumber into;
  // If several metrics fill one field of a model, the lowest choice that the exposition has for the
  // model counts: newer names before older ones. Equal choices are added.
  int choice = 0;
  // If not empty, only series with this label and value count.
  absl::string_view label = "";
  absl::string_view value = "";
  double unit = 1;  // factor for its values
  // The backend that exports it, if the engine runs models in backends. Empty: the engine itself.
  absl::string_view backend = "";
  // The name of a metric that the engine exports from its first value on, such as its finished
  // requests. If the exposition lacks both that metric and this number, the number is 0. Empty:
  // EngineExposition::zero_before applies.
  absl::string_view zero_before = "";
};

struct HistogramMapping {
  absl::string_view name;  // without _bucket
  ModelHistogram into;
  int choice = 0;
  double unit = 1;                     // factor for its bounds
  absl::string_view zero_before = "";  // as for a number; the histogram is then empty
};

struct EngineExposition {
  // Metric names that identify the engine. A mark that ends with ':' or '_' is a prefix.
  std::span<const absl::string_view> marks;
  bool may_be_empty = false;  // before its first request
  // The `zero_before` of rows without their own. Empty: a missing value of such a row is unknown.
  absl::string_view zero_before = "";
  absl::string_view model_label;  // empty: the engine exports no model name
  std::span<const NumberMapping> numbers;
  std::span<const HistogramMapping> histograms;
};

bool IsMarked(const EngineExposition& engine, absl::string_view name);

constexpr size_t kMaxModels = 1000;  // per exposition
constexpr size_t kMaxBuckets = 500;  // per histogram; engines have 30 at most

struct ScrapeInterest {
  ExpositionFormat format = ExpositionFormat::kText;
  bool histograms = false;  // the largest part of a reading
};

// A value that is NaN, infinite, negative, or a ratio above 1 makes its number NaN for that model,
// because a sum without one of its parts would be wrong. Series for which `counts` is false,
// because they repeat other series, are skipped. Before its first request an engine's exposition
// may lack its metrics or be empty (see zero_before). Otherwise NOT_FOUND if it has none of them.
// INVALID_ARGUMENT if `page` is malformed or has too many models.
absl::StatusOr<EngineReading> ReadEngineExposition(
    const EngineExposition& engine, absl::string_view page, const ScrapeInterest& interest,
    absl::FunctionRef<bool(const ExpositionSample&)> counts = [](const ExpositionSample&) {
      return true;
    });

// As ReadEngineExposition() with all series: the Engine::read of most engines.
template <const EngineExposition& kExposition>
absl::StatusOr<EngineReading> ReadAllSeries(absl::string_view page,
                                            const ScrapeInterest& interest) {
  return ReadEngineExposition(kExposition, page, interest);
}

}  // namespace gpuscaler
