// The batch limit of an engine, learnt from its readings: requests that wait while the same number
// runs, and the KV cache has room, wait for a place in the batch.
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "engine/stored_readings.h"

namespace gpuscaler {

// Requests that wait at one reading may have come just then, or wait for the prompt of another to
// be read. Requests that wait for a place find the same number running (+-1) for this long.
inline constexpr absl::Duration kFullFor = absl::Seconds(10);
inline constexpr int kFullReadings = 3;  // the least of them, however seldom it is read
// Above it requests may wait for the cache.
inline constexpr double kFullCacheRatio = 0.85;

// Of one model, or of several added up. Not thread-safe.
class FullBatch {
 public:
  // Later than all before. One whose counters began anew may have another limit.
  void Take(const TimedReading& reading);

  // Empty: none was seen full. It only rises: whoever runs more than that was not full.
  std::optional<double> Limit() const { return limit_; }
  absl::Time LearntAt() const { return learnt_at_; }  // when it was last found full

 private:
  // Requests have waited at each reading since then, and about as many ran.
  struct Crowd {
    double running = 0;  // at the first of them
    double most = 0;
    absl::Time since;
    int readings = 1;
  };

  std::optional<Crowd> crowd_;
  std::optional<double> limit_;
  absl::Time learnt_at_ = absl::InfinitePast();
};

}  // namespace gpuscaler
