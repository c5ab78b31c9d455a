// Learns the batch limit of an engine: if requests wait, the same number of requests runs, and the
// KV cache has room, then the batch is full.
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "engine/stored_readings.h"

namespace gpuscaler {

// How long requests must wait at each reading, while the same number (+-1) runs, before the batch
// counts as full. For a shorter time they may have just arrived, or wait for the prefill of another
// request.
inline constexpr absl::Duration kFullFor = absl::Seconds(10);
inline constexpr int kFullReadings = 3;  // in that time at least, whatever the poll interval
// From this KV cache usage on, requests may wait for the cache and not for the batch.
inline constexpr double kFullCacheRatio = 0.85;

// One model, or the sum of several. Not thread-safe.
class BatchLimitEstimator {
 public:
  // `reading` must be later than all before. If the counters restarted, the limit is forgotten.
  void Take(const TimedReading& reading);

  // The largest full batch; nullopt: it was never full. Rises if more requests run at once.
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
