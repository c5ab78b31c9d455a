// An engine's batch as its readings show it, and the pressure that follows from it.
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
  std::optional<double> reported_limit;  // requests that it runs at once, from the engine itself
  std::optional<double> learnt_limit;    // the same, from requests that waited at a full batch
  absl::Time learnt_at = absl::InfinitePast();
  std::vector<BatchReading> readings;  // one for each of SignalSeries::points

  friend bool operator==(const EngineBatch&, const EngineBatch&) = default;
};

// Returns how full the engine is, 0-100 and more (DESIGN 2): its KV cache, or its requests against
// `limit`, the larger of them. Without a limit: its cache, and the requests that wait per running
// one. Empty if the reading has neither.
inline std::optional<double> PressurePercent(const BatchReading& reading,
                                             std::optional<double> limit) {
  std::optional<double> cache;
  if (reading.kv_cache_usage_ratio) cache = 100 * *reading.kv_cache_usage_ratio;
  if (!reading.waiting || !reading.running) return cache;
  const double requests = *reading.waiting + *reading.running;
  if (limit > 0.0) return std::max(cache.value_or(0), 100 * requests / *limit);
  // While none runs yet, each that waits is one too many.
  return cache.value_or(0) + 100 * *reading.waiting / std::max(*reading.running, 1.0);
}

}  // namespace gpuscaler
