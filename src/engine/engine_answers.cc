#include "engine/engine_answers.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"

namespace gpuscaler {
namespace {

using Number = std::optional<double>;

Number Finite(double number) { return std::isfinite(number) ? Number(number) : std::nullopt; }

Number Times(double factor, Number number) {
  return number.has_value() ? Finite(factor * *number) : std::nullopt;
}

Number Sum(Number a, Number b) {
  return a.has_value() && b.has_value() ? Finite(*a + *b) : std::nullopt;
}

// Returns the first limit above 0.
Number FirstLimit(Number own, Number given, Number seen) {
  for (const Number& limit : {own, given, seen}) {
    if (limit > 0.0) return limit;  // an empty optional is below any number
  }
  return std::nullopt;
}

ValuesAtReadings DonePerSecond(std::span<const TimedReading> readings,
                               const CounterLookBack& look_back) {
  ValuesAtReadings rates;
  for (const auto& growth : GrowthAtReadings(readings, &TimedReading::requests_done, look_back)) {
    rates.push_back(growth.has_value() ? Number(growth->PerSecond()) : std::nullopt);
  }
  return rates;
}

ValuesAtReadings Milliseconds(ValuesAtReadings seconds) {
  for (Number& number : seconds) number = Times(1e3, number);
  return seconds;
}

// Requires a metric that needs one reading only.
Number AnswerOf(const EngineQuery& query, const TimedReading& reading, Number full_batch) {
  switch (query.metric) {
    case EngineMetric::kRequestsWaiting:
      return reading.waiting;
    case EngineMetric::kRequestsRunning:
      return reading.running;
    case EngineMetric::kRequestsInFlight:
    case EngineMetric::kDemand:
      return Sum(reading.waiting, reading.running);
    case EngineMetric::kKvCacheUsagePercent:
      return Times(100, reading.kv_cache_usage_ratio);
    case EngineMetric::kPressurePercent:
      return PressurePercent(reading, query.max_concurrency, full_batch);
    case EngineMetric::kQueueWaitMs:
    case EngineMetric::kRequestRate:
    case EngineMetric::kTimeToFirstTokenMs:
    case EngineMetric::kTimePerOutputTokenMs:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> PressurePercent(const TimedReading& reading,
                                      std::optional<double> max_concurrency,
                                      std::optional<double> full_batch) {
  return PressurePercent(BatchOf(reading), FirstLimit(reading.limit, max_concurrency, full_batch));
}

BatchReading BatchOf(const TimedReading& reading) {
  return {.waiting = reading.waiting,
          .running = reading.running,
          .kv_cache_usage_ratio = reading.kv_cache_usage_ratio};
}

std::string PressureBasisText(const TimedReading& reading, std::optional<double> max_concurrency,
                              std::optional<double> full_batch) {
  if (!Sum(reading.running, reading.waiting).has_value()) return "by its KV cache alone";
  if (reading.limit > 0.0) {
    return absl::StrCat("of the ", NumberText(*reading.limit), " requests that it runs at most");
  }
  if (max_concurrency > 0.0)
    return absl::StrCat("of maxConcurrency ", NumberText(*max_concurrency));
  if (full_batch > 0.0) {
    return absl::StrCat("of the ", NumberText(*full_batch),
                        " that ran at most while others waited (maxConcurrency is not given)");
  }
  return "without a limit: none is known yet, and maxConcurrency is not given";
}

ValuesAtReadings Answers(const EngineQuery& query, std::span<const TimedReading> readings,
                         absl::Duration max_gap, std::optional<double> full_batch) {
  const CounterLookBack look_back{.window = query.window, .max_gap = max_gap};
  if (query.metric == EngineMetric::kQueueWaitMs) {
    return Milliseconds(MeanQueueSeconds(readings, look_back));
  }
  if (query.metric == EngineMetric::kRequestRate) return DonePerSecond(readings, look_back);
  if (query.metric == EngineMetric::kTimeToFirstTokenMs) {
    return Milliseconds(P95Seconds(readings, &TimedReading::first_token_seconds, look_back));
  }
  if (query.metric == EngineMetric::kTimePerOutputTokenMs) {
    return Milliseconds(P95Seconds(readings, &TimedReading::output_token_seconds, look_back));
  }
  ValuesAtReadings answers;
  answers.reserve(readings.size());
  for (const TimedReading& reading : readings) {
    answers.push_back(AnswerOf(query, reading, full_batch));
  }
  return answers;
}

absl::string_view InputsOf(EngineMetric metric) {
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
    case EngineMetric::kDemand:
      return "how many requests it finished, wait and run, and how many tokens it generated";
    case EngineMetric::kTimePerOutputTokenMs:
      break;
  }
  return "how long a token takes";
}

}  // namespace gpuscaler
