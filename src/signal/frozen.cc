#include "signal/frozen.h"

#include <algorithm>

namespace gpuscaler {
namespace {

bool SaysThatItHasRequests(const ModelReading& reading) {
  return reading.waiting > 0.0 || reading.running > 0.0;  // an empty optional is below any number
}

// Of these, one at least moves with every request that is served.
bool TellsProgress(const ModelReading& reading) {
  return reading.prompt_tokens.has_value() || reading.generation_tokens.has_value() ||
         reading.requests_done.has_value();
}

bool StoodStill(const ModelReading& older, const ModelReading& newer) {
  return older.waiting == newer.waiting && older.running == newer.running &&
         older.counters_began == newer.counters_began &&
         std::ranges::all_of(kModelCounters,
                             [&](ModelNumber counter) { return older.*counter == newer.*counter; });
}

}  // namespace

bool GaugesAreFrozen(std::span<const TimedReading> readings,
                     std::optional<absl::Time> gpus_idle_since, absl::Duration frozen_window) {
  if (readings.empty()) return false;
  const TimedReading& newest = readings.back();
  const absl::Time since = newest.at - frozen_window;
  if (!gpus_idle_since.has_value() || *gpus_idle_since > since) return false;
  if (!SaysThatItHasRequests(newest.reading) || !TellsProgress(newest.reading)) return false;
  for (size_t i = readings.size() - 1; i > 0 && readings[i].at > since; --i) {
    if (!StoodStill(readings[i - 1].reading, newest.reading)) return false;
  }
  return readings.front().at <= since;
}

ModelReading WithoutRequests(ModelReading reading) {
  for (const ModelNumber gauge :
       {&ModelReading::waiting, &ModelReading::running, &ModelReading::kv_cache_usage_ratio}) {
    if ((reading.*gauge).has_value()) reading.*gauge = 0;
  }
  return reading;
}

}  // namespace gpuscaler
