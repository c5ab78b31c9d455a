// When each request is meant to be sent: decided beforehand, whatever becomes of the others.
#pragma once

#include <optional>
#include <random>

#include "absl/time/time.h"
#include "load/rate_curve.h"

namespace gpuscaler {

enum class Spacing { kEven, kPoisson };

// The same for the same seed, on every machine. Not thread-safe.
class Arrivals {
 public:
  Arrivals(RateCurve curve, absl::Duration duration, Spacing spacing, uint64_t seed);

  // Since the start, in order; empty once `duration` is over.
  std::optional<absl::Duration> Next();

  absl::Duration duration() const;

 private:
  double NextGap();

  const RateCurve curve_;
  const int64_t ticks_;  // of the duration
  const Spacing spacing_;
  std::mt19937_64 random_;
  int64_t tick_ = 0;
  double used_ = 0;  // requests, of this tick's
  double gap_;       // requests until the next one
};

}  // namespace gpuscaler
