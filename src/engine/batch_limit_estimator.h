// Learns the batch limit of an engine: if requests wait, the same number of requests runs, and the
// KV cache has room, then the batch is full.
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "engine/stored_readings.h"

namespace gpuscaler {

// Requests that wait at one reading may have arrived just then, or wait for the prefill of another
// request. If the batch is full, the same number (+-1) runs for this long.
inline constexpr absl::Duration kFullFor = absl::Seconds(10);
inline constexpr int kFullReadings = 3;  // minimum, whatever the poll interval
// Above it requests may wait for the cache.
inline constexpr double kFullCacheRatio = 0.85;

// One model, or the sum of several. Not thread-safe.
class BatchLimitEstimator {
 public:
  // `reading` must be later than all before. If the counters restarted, the limit is forgotten.
  void Take(const TimedReading& reading);

  // Returns nullopt if the batch was never full. It only rises: more running requests disprove it.
  std::optional<double> Limit() const { return limit_; }
  absl::Time LearntAt() const { return learnt_at_; }  // last time the batch was full

 private:
  // A time since which requests waited at each reading, and the same number (+-1) ran.
  struct Plateau {
    double running = 0;  // at the first reading
    double most = 0;
    absl::Time since;
    int readings = 1;
  };

  std::optional<Plateau> plateau_;
  std::optional<double> limit_;
  absl::Time learnt_at_ = absl::InfinitePast();
};

}  // namespace gpuscaler
