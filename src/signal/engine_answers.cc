#include "signal/engine_answers.h"

#include <algorithm>

namespace gpuscaler {
namespace {

using Number = std::optional<double>;

Number Times(double factor, Number number) {
  return number.has_value() ? Number(factor * *number) : std::nullopt;
}

Number Sum(Number a, Number b) {
  return a.has_value() && b.has_value() ? Number(*a + *b) : std::nullopt;
}

// The first that is there, above 0: nothing can be divided by the others.
Number FirstLimit(Number own, Number given, Number seen) {
  for (const Number& limit : {own, given, seen}) {
    if (limit > 0.0) return limit;  // an empty optional is below any number
  }
  return std::nullopt;
}

Number DonePerSecond(std::span<const TimedReading> readings, const CounterLookBack& look_back) {
  const auto growth = GrowthOf(readings, &ModelReading::requests_done, look_back);
  return growth.has_value() ? Number(growth->PerSecond()) : std::nullopt;
}

}  // namespace

std::optional<double> PressurePercent(const ModelReading& reading,
                                      std::optional<double> max_concurrency,
                                      std::optional<double> most_running) {
  const Number cache = Times(100, reading.kv_cache_usage_ratio);
  const Number requests = Sum(reading.running, reading.waiting);
  if (!requests.has_value()) return cache;
  if (const Number limit = FirstLimit(reading.limit, max_concurrency, most_running)) {
    return std::max(cache.value_or(0), 100 * *requests / *limit);
  }
  // Where none runs yet, each that waits is one too many.
  return cache.value_or(0) + 100 * *reading.waiting / std::max(*reading.running, 1.0);
}

std::optional<double> Answer(const EngineQuestion& question, std::span<const TimedReading> readings,
                             const EngineFacts& facts) {
  const CounterLookBack look_back{.window = question.window, .longest_gap = facts.longest_gap};
  const ModelReading& newest = readings.back().reading;
  switch (question.metric) {
    case EngineMetric::kRequestsWaiting:
      return newest.waiting;
    case EngineMetric::kRequestsRunning:
      return newest.running;
    case EngineMetric::kRequestsInFlight:
      return Sum(newest.waiting, newest.running);
    case EngineMetric::kKvCacheUsagePercent:
      return Times(100, newest.kv_cache_usage_ratio);
    case EngineMetric::kPressurePercent:
      return PressurePercent(newest, question.max_concurrency, facts.most_running);
    case EngineMetric::kQueueWaitMs:
      return Times(1e3, MeanQueueSeconds(readings, look_back));
    case EngineMetric::kRequestRate:
      return DonePerSecond(readings, look_back);
    case EngineMetric::kTimeToFirstTokenMs:
      return Times(1e3, P95Seconds(readings, &ModelReading::first_token_seconds, look_back));
    case EngineMetric::kTimePerOutputTokenMs:
      return Times(1e3, P95Seconds(readings, &ModelReading::output_token_seconds, look_back));
  }
  return std::nullopt;
}

absl::string_view WhatIsAsked(EngineMetric metric) {
  switch (metric) {
    case EngineMetric::kRequestsWaiting:
      return "how many requests wait";
    case EngineMetric::kRequestsRunning:
      return "how many requests run";
    case EngineMetric::kRequestsInFlight:
      return "how many requests wait, and how many run";
    case EngineMetric::kKvCacheUsagePercent:
      return "how full its KV cache is";
    case EngineMetric::kPressurePercent:
      return "how full its KV cache is, nor how many requests wait and run";
    case EngineMetric::kQueueWaitMs:
      return "how long requests waited";
    case EngineMetric::kRequestRate:
      return "how many requests it served";
    case EngineMetric::kTimeToFirstTokenMs:
      return "how long the first token takes";
    case EngineMetric::kTimePerOutputTokenMs:
      break;
  }
  return "how long a token takes";
}

bool IsOverWindow(EngineMetric metric) {
  return metric == EngineMetric::kQueueWaitMs || metric == EngineMetric::kRequestRate ||
         NeedsHistograms(metric);
}

bool NeedsHistograms(EngineMetric metric) {
  return metric == EngineMetric::kTimeToFirstTokenMs ||
         metric == EngineMetric::kTimePerOutputTokenMs;
}

}  // namespace gpuscaler
