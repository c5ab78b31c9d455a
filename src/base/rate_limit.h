// Lets some through and counts the rest: for log lines that others can cause as fast as they like.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace gpuscaler {

// Thread-safe.
class RateLimit {
 public:
  // At most `per_period` pass in each `period` of `clock`, which outlives it.
  RateLimit(const Clock& clock, int per_period, absl::Duration period);

  // Empty: drop this one. Else how many were dropped since the last one that passed.
  std::optional<int64_t> Pass();

 private:
  const Clock& clock_;
  const int per_period_;
  const absl::Duration period_;
  Mutex mutex_;
  absl::Time period_began_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int passed_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace gpuscaler
