// How many requests arrive over time: nothing, a rise, a plateau, an end.
#pragma once

#include "absl/time/time.h"
#include "load/rate_curve.h"

namespace gpuscaler {

struct LoadShape {
  absl::Duration quiet = absl::Seconds(60);
  absl::Duration rise = absl::Minutes(30);  // a straight line up
  absl::Duration hold = absl::Minutes(12);
  absl::Duration fall = absl::Minutes(1);  // and down
  double peak = 1.0;                       // requests a second

  absl::Duration End() const { return quiet + rise + hold + fall; }

  // Requests a second, `passed` after the start.
  double RateAt(absl::Duration passed) const;
};

// `speed` times as fast. A load that does not end is a steady one.
RateCurve CurveOf(const LoadShape& shape, int speed);

}  // namespace gpuscaler
