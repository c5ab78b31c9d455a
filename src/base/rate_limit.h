// Lets some through and counts the rest: for log lines that others can cause as fast as they like.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace gpuscaler {

// Not thread-safe, and without a clock.
class PassesLately {
 public:
  // At most `per_period` pass in each `period`.
  PassesLately(int per_period, absl::Duration period) : per_period_(per_period), period_(period) {}

  // Empty: drop this one. Else how many were dropped since the last one that passed.
  std::optional<int64_t> Pass(absl::Time now);

 private:
  int per_period_;
  absl::Duration period_;
  absl::Time period_began_ = absl::InfinitePast();
  int passed_ = 0;
  int64_t dropped_ = 0;
};

// Thread-safe.
class RateLimit {
 public:
  // `clock` outlives it.
  RateLimit(const Clock& clock, int per_period, absl::Duration period);

  std::optional<int64_t> Pass();

 private:
  const Clock& clock_;
  Mutex mutex_;
  PassesLately passes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
