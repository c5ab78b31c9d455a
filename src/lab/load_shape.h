// The requests per second over time: zero, a rise, a plateau, an end.
#pragma once

#include "absl/time/time.h"
#include "simulate/rate_curve.h"

namespace gpuscaler {

struct LoadShape {
  absl::Duration quiet = absl::Seconds(60);
  absl::Duration rise = absl::Minutes(30);  // linear
  absl::Duration hold = absl::Minutes(12);
  absl::Duration fall = absl::Minutes(1);  // linear
  double peak = 1.0;                       // requests per second

  absl::Duration End() const { return quiet + rise + hold + fall; }

  // Returns the requests per second at `passed` after the start.
  double RateAt(absl::Duration passed) const;
};

// Returns the curve `speed` times as fast. An infinite load is steady.
RateCurve CurveOf(const LoadShape& shape, int speed);

}  // namespace gpuscaler
