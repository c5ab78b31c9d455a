// The metrics of an inference engine that triggers use: one number per reading.
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"

namespace gpuscaler {

enum class EngineMetric {
  kRequestsWaiting,
  kRequestsRunning,
  kRequestsInFlight,      // waiting and running
  kKvCacheUsagePercent,   // 0-100, of the fullest cache
  kPressurePercent,       // how full the engine is; above 100 if requests wait
  kQueueWaitMs,           // mean of the requests that left the queue in the window
  kRequestRate,           // finished requests per second
  kTimeToFirstTokenMs,    // p95 in the window
  kTimePerOutputTokenMs,  // p95 in the window
  kDemand,                // requests in flight, of an engine that exports what demand needs
};

// Histograms are the largest part of a metrics endpoint.
constexpr bool NeedsHistograms(EngineMetric metric) {
  return metric == EngineMetric::kTimeToFirstTokenMs ||
         metric == EngineMetric::kTimePerOutputTokenMs;
}

// Returns true if the metric is computed from counters, over the query's window.
constexpr bool IsOverWindow(EngineMetric metric) {
  return metric == EngineMetric::kQueueWaitMs || metric == EngineMetric::kRequestRate ||
         NeedsHistograms(metric);
}

struct EngineQuery {
  EngineMetric metric = EngineMetric::kRequestsInFlight;
  std::string model;                      // empty: all models of the engine together
  absl::Duration window;                  // applies to metrics from counters
  absl::Duration look_back;               // how much of the past is needed
  std::optional<double> max_concurrency;  // per engine, if it exports no limit
  // How far back demand is summed and departed engines are kept. 0: no demand is needed.
  absl::Duration demand_window;
  // First tokens later than this count as late (EngineDemand::first_tokens). Empty: none is
  // counted.
  std::optional<absl::Duration> ttft_slo;

  friend bool operator==(const EngineQuery&, const EngineQuery&) = default;
};

inline bool NeedsHistograms(const EngineQuery& query) {
  return NeedsHistograms(query.metric) || query.ttft_slo.has_value();
}

}  // namespace gpuscaler
