#include "engine/reported_metrics.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// The rows of an engine that has that backend; empty: none.
struct Rows {
  const EngineExposition& page;
  absl::string_view backend;
};

bool IsOf(const Rows& rows, const NumberRow& row) {
  return row.backend.empty() || row.backend == rows.backend;
}

bool Has(const Rows& rows, ModelNumber number) {
  return std::ranges::any_of(rows.page.numbers, [&](const NumberRow& row) {
    return IsOf(rows, row) && row.into == number;
  });
}

bool Has(const Rows& rows, ModelHistogram histogram) {
  return std::ranges::any_of(
      rows.page.histograms, [histogram](const HistogramRow& row) { return row.into == histogram; });
}

// What Answers() takes (engine_answers.h).
bool HasWhatIsAsked(const Rows& rows, EngineMetric metric) {
  switch (metric) {
    case EngineMetric::kRequestsWaiting:
      return Has(rows, &ModelReading::waiting);
    case EngineMetric::kRequestsRunning:
      return Has(rows, &ModelReading::running);
    case EngineMetric::kRequestsInFlight:
      return Has(rows, &ModelReading::waiting) && Has(rows, &ModelReading::running);
    case EngineMetric::kKvCacheUsagePercent:
      return Has(rows, &ModelReading::kv_cache_usage_ratio);
    case EngineMetric::kPressurePercent:
      return HasWhatIsAsked(rows, EngineMetric::kKvCacheUsagePercent) ||
             HasWhatIsAsked(rows, EngineMetric::kRequestsInFlight);
    case EngineMetric::kQueueWaitMs:
      return Has(rows, &ModelReading::queue_seconds) && Has(rows, &ModelReading::queued_requests);
    case EngineMetric::kRequestRate:
      return Has(rows, &ModelReading::requests_done);
    case EngineMetric::kTimeToFirstTokenMs:
      return Has(rows, &ModelReading::first_token_seconds);
    case EngineMetric::kDemand:
      // No backend reports all of it: Triton's vLLM has no running requests, its TensorRT-LLM no
      // tokens.
      return rows.backend.empty() && HasWhatIsAsked(rows, EngineMetric::kRequestsInFlight) &&
             Has(rows, &ModelReading::requests_done) && Has(rows, &ModelReading::generation_tokens);
    case EngineMetric::kTimePerOutputTokenMs:
      break;
  }
  return Has(rows, &ModelReading::output_token_seconds);
}

// Every backend that the page names, the empty one first.
std::set<absl::string_view> BackendsOf(const EngineExposition& page) {
  std::set<absl::string_view> backends = {""};
  for (const NumberRow& row : page.numbers) backends.insert(row.backend);
  return backends;
}

}  // namespace

bool CanTell(const Engine& engine, EngineMetric metric) {
  if (engine.page == nullptr) return false;
  return std::ranges::any_of(BackendsOf(*engine.page), [&](absl::string_view backend) {
    return HasWhatIsAsked({*engine.page, backend}, metric);
  });
}

absl::string_view BackendFor(const Engine& engine, EngineMetric metric) {
  if (engine.page == nullptr) return "";
  for (const absl::string_view backend : BackendsOf(*engine.page)) {
    if (HasWhatIsAsked({*engine.page, backend}, metric)) return backend;
  }
  return "";
}

bool HasBackend(const Engine& engine, const EngineReading& reading, absl::string_view model) {
  if (engine.page == nullptr) return false;
  const Rows without{*engine.page, ""};
  return std::ranges::any_of(reading.models, [&](const ModelReading& one) {
    const bool is_meant = model.empty() || one.model == model;
    return is_meant && std::ranges::any_of(engine.page->numbers, [&](const NumberRow& row) {
             return !Has(without, row.into) && (one.*row.into).has_value();
           });
  });
}

std::vector<std::string> EnginesThatTell(EngineMetric metric) {
  std::vector<std::string> names;
  for (const Engine* const engine : Engines()) {
    if (!CanTell(*engine, metric)) continue;
    const absl::string_view backend = BackendFor(*engine, metric);
    names.push_back(absl::StrCat(engine->name, backend.empty() ? "" : " with ", backend));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace gpuscaler
