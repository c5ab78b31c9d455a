// The intended times of requests. They are fixed in advance and do not depend on replies.
#pragma once

#include <optional>
#include <random>

#include "absl/time/time.h"
#include "simulate/rate_curve.h"

namespace gpuscaler {

// The range is [0, 1). std's distributions are not used because their numbers for a seed differ
// between libraries.
double UniformRandom(std::mt19937_64& random);

enum class Spacing { kEven, kPoisson };

// The times for a seed are the same on every machine. Not thread-safe.
class Arrivals {
 public:
  Arrivals(RateCurve curve, absl::Duration duration, Spacing spacing, uint64_t seed);

  // Returns the next time since the start, in order, or nullopt after `duration`.
  std::optional<absl::Duration> Next();

  absl::Duration duration() const;

 private:
  double NextGap();

  const RateCurve curve_;
  const int64_t ticks_;  // length of the duration in ticks
  const Spacing spacing_;
  std::mt19937_64 random_;
  int64_t tick_ = 0;
  double used_ = 0;  // requests of this tick so far
  double gap_;       // requests until the next one
};

}  // namespace gpuscaler
