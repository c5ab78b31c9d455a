// Rate limits for log lines that remote clients can cause at any rate.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace gpuscaler {

// A fixed-window rate limit. Not thread-safe; the caller provides the time.
class FixedWindowLimit {
 public:
  // Lets at most `per_period` lines pass in each `period`.
  FixedWindowLimit(int per_period, absl::Duration period)
      : per_period_(per_period), period_(period) {}

  // Returns how many lines were dropped since the last one that passed, or nothing if this one must
  // be dropped.
  std::optional<int64_t> Pass(absl::Time now);

 private:
  int per_period_;
  absl::Duration period_;
  absl::Time period_began_ = absl::InfinitePast();
  int passed_ = 0;
  int64_t dropped_ = 0;
};

// The same limit, thread-safe and with a clock.
class RateLimit {
 public:
  // `clock` must outlive it.
  RateLimit(const Clock& clock, int per_period, absl::Duration period);

  std::optional<int64_t> Pass();

 private:
  const Clock& clock_;
  Mutex mutex_;
  FixedWindowLimit passes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
