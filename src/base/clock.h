// The time that values carry. Injected everywhere, so that a test moves it and a demo speeds it up.
#pragma once

#include "absl/time/time.h"

namespace gpuscaler {

// Never goes back. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
};

// UTC at construction plus what the monotonic clock has counted since, times `speed`: prints as a
// date, yet a correction of the system's clock moves no age and no window.
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
