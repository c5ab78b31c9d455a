// How an engine's page of metrics becomes its reading: one row for each metric that counts.
#pragma once

#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/engine_reading.h"
#include "page/prometheus_text.h"

namespace gpuscaler {

// What becomes of the several series of a metric: data-parallel ranks, versions, reasons.
enum class Adding {
  kSum,
  // Ratios, 0-1. The fullest counts: requests of a rank whose cache is full wait or are preempted,
  // however empty the others' caches are. A sum of ratios says nothing, and a mean hides the full
  // one.
  kFullest,
};

struct NumberRow {
  absl::string_view name;  // whole; a counter's may have _total behind it on the page, or not
  ModelNumber into;
  Adding adding = Adding::kSum;
  // Of several metrics for one number of a model the first choice that the page has for the model
  // counts: newer names before older ones. Equal choices are added.
  int choice = 0;
  // Only series with this label count; of an empty label all do.
  absl::string_view label = "";
  absl::string_view value = "";
  double unit = 1;  // what its values are multiplied with
  // The backend that exports it, if the engine runs models in backends. Empty: the engine does.
  absl::string_view backend = "";
  // Of an engine that puts a metric on its page with the first value: while it has none of this
  // name, it is 0 where the page lacks it. Empty: what is not on the page is not known.
  absl::string_view zero_before = "";
};

struct HistogramRow {
  absl::string_view name;  // without _bucket
  ModelHistogram into;
  int choice = 0;
  double unit = 1;                     // what its bounds are multiplied with
  absl::string_view zero_before = "";  // as a number's: it has counted nothing then
};

struct EngineExposition {
  // The page is an engine's when it has a metric of this name, or where the mark ends with ':' or
  // '_', one whose name begins so.
  std::span<const absl::string_view> marks;
  bool may_be_empty = false;      // until it has served a request
  absl::string_view model_label;  // empty: it names no model
  std::span<const NumberRow> numbers;
  std::span<const HistogramRow> histograms;
};

bool IsMarked(const EngineExposition& engine, absl::string_view name);

constexpr size_t kMostModels = 1000;  // of a page
constexpr size_t kMostBuckets = 500;  // of a histogram; engines have 30 at most

struct ScrapeInterest {
  ExpositionFormat format = ExpositionFormat::kText;
  bool histograms = false;  // by far the most of what there is to keep: only when asked for
};

// A series that is NaN, infinite, negative, or a ratio above 1 makes its number NaN for that model:
// the rest of a sum is no sum. Series that do not count, because they repeat what others say, are
// passed over. Of an engine that has served nothing the page may have none of the metrics, or be
// empty (zero_before). NOT_FOUND: it has none of them for another reason. INVALID_ARGUMENT: it is
// no whole page, or has too many models.
absl::StatusOr<EngineReading> ReadEngineExposition(
    const EngineExposition& engine, absl::string_view page, const ScrapeInterest& interest,
    absl::FunctionRef<bool(const ExpositionSample&)> counts = [](const ExpositionSample&) {
      return true;
    });

}  // namespace gpuscaler
