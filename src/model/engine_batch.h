// An engine's batch over time, and the pressure derived from it.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// One reading. An empty field was not reported.
struct BatchReading {
  std::optional<double> waiting;
  std::optional<double> running;
  std::optional<double> kv_cache_usage_ratio;  // 0-1

  friend bool operator==(const BatchReading&, const BatchReading&) = default;
};

struct EngineBatch {
  std::optional<double> reported_limit;  // largest batch, as the engine reports it
  // The largest batch, learnt from requests that waited at a full one
  std::optional<double> learnt_limit;
  absl::Time learnt_at = absl::InfinitePast();
  std::vector<BatchReading> readings;  // one for each of SignalSeries::points

  friend bool operator==(const EngineBatch&, const EngineBatch&) = default;
};

// Returns how full the engine is in percent, above 100 if requests wait. It is the
// larger of its KV cache usage and its requests relative to `limit`. Without a limit: the KV cache
// usage plus the waiting requests per running one. Returns nullopt if the reading has neither.
inline std::optional<double> PressurePercent(const BatchReading& reading,
                                             std::optional<double> limit) {
  std::optional<double> cache;
  if (reading.kv_cache_usage_ratio) cache = 100 * *reading.kv_cache_usage_ratio;
  if (!reading.waiting || !reading.running) return cache;
  const double requests = *reading.waiting + *reading.running;
  if (limit > 0.0) return std::max(cache.value_or(0), 100 * requests / *limit);
  // If none runs yet, each waiting request adds 100 %.
  return cache.value_or(0) + 100 * *reading.waiting / std::max(*reading.running, 1.0);
}

}  // namespace gpuscaler
