#include "engine/told_metrics.h"

#include <algorithm>

namespace gpuscaler {
namespace {

bool Has(const EnginePage& page, ModelNumber number) {
  return std::ranges::any_of(page.numbers,
                             [number](const NumberRow& row) { return row.into == number; });
}

bool Has(const EnginePage& page, ModelHistogram histogram) {
  return std::ranges::any_of(
      page.histograms, [histogram](const HistogramRow& row) { return row.into == histogram; });
}

// What Answers() takes (engine_answers.h).
bool HasWhatIsAsked(const EnginePage& page, EngineMetric metric) {
  switch (metric) {
    case EngineMetric::kRequestsWaiting:
      return Has(page, &ModelReading::waiting);
    case EngineMetric::kRequestsRunning:
      return Has(page, &ModelReading::running);
    case EngineMetric::kRequestsInFlight:
      return Has(page, &ModelReading::waiting) && Has(page, &ModelReading::running);
    case EngineMetric::kKvCacheUsagePercent:
      return Has(page, &ModelReading::kv_cache_usage_ratio);
    case EngineMetric::kPressurePercent:
      return HasWhatIsAsked(page, EngineMetric::kKvCacheUsagePercent) ||
             HasWhatIsAsked(page, EngineMetric::kRequestsInFlight);
    case EngineMetric::kQueueWaitMs:
      return Has(page, &ModelReading::queue_seconds) && Has(page, &ModelReading::queued_requests);
    case EngineMetric::kRequestRate:
      return Has(page, &ModelReading::requests_done);
    case EngineMetric::kTimeToFirstTokenMs:
      return Has(page, &ModelReading::first_token_seconds);
    case EngineMetric::kTimePerOutputTokenMs:
      break;
  }
  return Has(page, &ModelReading::output_token_seconds);
}

}  // namespace

bool CanTell(const Engine& engine, EngineMetric metric) {
  return engine.page != nullptr && HasWhatIsAsked(*engine.page, metric);
}

std::vector<std::string> EnginesThatTell(EngineMetric metric) {
  std::vector<std::string> names;
  for (const Engine* const engine : Engines()) {
    if (CanTell(*engine, metric)) names.emplace_back(engine->name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace gpuscaler
