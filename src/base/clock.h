// The clock that timestamps values. It is injected: tests advance it, and a demo runs it faster.
#pragma once

#include "absl/time/time.h"

namespace gpuscaler {

// Never goes back. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
};

// UTC at construction plus `speed` times the monotonic time since. Times print as dates, yet a
// correction of the system clock changes no age and no window.
class SteadyClock : public Clock {
 public:
  explicit SteadyClock(double speed = 1.0);
  absl::Time Now() const override;

 private:
  const absl::Time started_at_;
  const int64_t started_ns_;  // CLOCK_MONOTONIC
  const double speed_;
};

}  // namespace gpuscaler
