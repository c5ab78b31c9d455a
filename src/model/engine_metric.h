// What decisions ask of an inference engine, one number at each of its readings.
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"

namespace gpuscaler {

enum class EngineMetric {
  kRequestsWaiting,
  kRequestsRunning,
  kRequestsInFlight,      // both
  kKvCacheUsagePercent,   // 0-100, of the fullest cache
  kPressurePercent,       // how full it is (DESIGN 2); above 100 where requests wait
  kQueueWaitMs,           // mean of the requests that left the queue in the window
  kRequestRate,           // requests done a second
  kTimeToFirstTokenMs,    // p95 in the window
  kTimePerOutputTokenMs,  // p95 in the window
  kDemand,                // requests in flight, of an engine that reports what demand takes
};

// Whether it takes histograms, of which a page has the most.
constexpr bool NeedsHistograms(EngineMetric metric) {
  return metric == EngineMetric::kTimeToFirstTokenMs ||
         metric == EngineMetric::kTimePerOutputTokenMs;
}

// Whether it comes from counters, over the question's window.
constexpr bool IsOverWindow(EngineMetric metric) {
  return metric == EngineMetric::kQueueWaitMs || metric == EngineMetric::kRequestRate ||
         NeedsHistograms(metric);
}

struct EngineQuestion {
  EngineMetric metric = EngineMetric::kRequestsInFlight;
  std::string model;                      // empty: all models of the engine together
  absl::Duration window;                  // of what comes from counters
  absl::Duration look_back;               // how much of the past is asked for
  std::optional<double> max_concurrency;  // of one engine, where it does not tell its limit
  // How far back demand is added up, and engines that have left are remembered. 0: the question is
  // not about demand.
  absl::Duration memory;
  // First tokens later than this count as late (EngineDemand::first_tokens). Empty: none is
  // counted.
  std::optional<absl::Duration> ttft_slo;

  friend bool operator==(const EngineQuestion&, const EngineQuestion&) = default;
};

inline bool NeedsHistograms(const EngineQuestion& question) {
  return NeedsHistograms(question.metric) || question.ttft_slo.has_value();
}

}  // namespace gpuscaler
