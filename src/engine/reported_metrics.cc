#include "engine/reported_metrics.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// The rows of an engine that runs `backend`; empty: no backend.
struct Rows {
  const EngineExposition& exposition;
  absl::string_view backend;
};

bool IsOf(const Rows& rows, const NumberMapping& row) {
  return row.backend.empty() || row.backend == rows.backend;
}

bool Has(const Rows& rows, ModelNumber number) {
  return std::ranges::any_of(rows.exposition.numbers, [&](const NumberMapping& row) {
    return IsOf(rows, row) && row.into == number;
  });
}

bool Has(const Rows& rows, ModelHistogram histogram) {
  return std::ranges::any_of(rows.exposition.histograms, [histogram](const HistogramMapping& row) {
    return row.into == histogram;
  });
}

// Returns true if the rows fill the fields that Answers() uses (engine_answers.h).
bool HasInputsOf(const Rows& rows, EngineMetric metric) {
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
      return HasInputsOf(rows, EngineMetric::kKvCacheUsagePercent) ||
             HasInputsOf(rows, EngineMetric::kRequestsInFlight);
    case EngineMetric::kQueueWaitMs:
      return Has(rows, &ModelReading::queue_seconds) && Has(rows, &ModelReading::queued_requests);
    case EngineMetric::kRequestRate:
      return Has(rows, &ModelReading::requests_done);
    case EngineMetric::kTimeToFirstTokenMs:
      return Has(rows, &ModelReading::first_token_seconds);
    case EngineMetric::kDemand:
      // No backend exports all of it: Triton's vLLM lacks running requests, its TensorRT-LLM lacks
      // tokens.
      return rows.backend.empty() && HasInputsOf(rows, EngineMetric::kRequestsInFlight) &&
             Has(rows, &ModelReading::requests_done) && Has(rows, &ModelReading::generation_tokens);
    case EngineMetric::kTimePerOutputTokenMs:
      break;
  }
  return Has(rows, &ModelReading::output_token_seconds);
}

// The empty backend is first.
std::set<absl::string_view> BackendsOf(const EngineExposition& exposition) {
  std::set<absl::string_view> backends = {""};
  for (const NumberMapping& row : exposition.numbers) backends.insert(row.backend);
  return backends;
}

}  // namespace

bool CanReport(const Engine& engine, EngineMetric metric) {
  if (engine.exposition == nullptr) return false;
  return std::ranges::any_of(BackendsOf(*engine.exposition), [&](absl::string_view backend) {
    return HasInputsOf({*engine.exposition, backend}, metric);
  });
}

absl::string_view BackendFor(const Engine& engine, EngineMetric metric) {
  if (engine.exposition == nullptr) return "";
  for (const absl::string_view backend : BackendsOf(*engine.exposition)) {
    if (HasInputsOf({*engine.exposition, backend}, metric)) return backend;
  }
  return "";
}

bool HasBackend(const Engine& engine, const EngineReading& reading, absl::string_view model) {
  if (engine.exposition == nullptr) return false;
  const Rows without{*engine.exposition, ""};
  return std::ranges::any_of(reading.models, [&](const ModelReading& one) {
    const bool is_selected = model.empty() || one.model == model;
    return is_selected &&
           std::ranges::any_of(engine.exposition->numbers, [&](const NumberMapping& row) {
             return !Has(without, row.into) && (one.*row.into).has_value();
           });
  });
}

std::vector<std::string> EnginesThatReport(EngineMetric metric) {
  std::vector<std::string> names;
  for (const Engine* const engine : Engines()) {
    if (!CanReport(*engine, metric)) continue;
    const absl::string_view backend = BackendFor(*engine, metric);
    names.push_back(absl::StrCat(engine->name, backend.empty() ? "" : " with ", backend));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace gpuscaler
