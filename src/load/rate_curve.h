// How many requests are asked for over time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace gpuscaler {

// All rates are requests a second.
class RateCurve {
 public:
  static RateCurve Constant(double rate);
  // `low` for the first and the last quarter of `duration`, `high` between them.
  static RateCurve Step(double low, double high, absl::Duration duration);
  // The first fifth of each `period` has `high`, the rest `low`.
  static RateCurve Burst(double low, double high, absl::Duration period);
  // A wave that begins at `low` and is at `high` in the middle of each `period`.
  static RateCurve Sine(double low, double high, absl::Duration period);

  // `low` until `from`, `high` behind `until`, a straight line between them.
  static RateCurve Ramp(double low, double high, absl::Duration from, absl::Duration until);

  // A line "SECONDS RATE" for each change, from that second on; before the first one it is 0. Blank
  // lines and what follows a # count for nothing. INVALID_ARGUMENT names the line and what is
  // allowed.
  static absl::StatusOr<RateCurve> Parse(absl::string_view text);

  double RateAt(absl::Duration passed) const;

  // All rates multiplied.
  RateCurve Times(double factor) const;

  // The time of the last line of a parsed curve. Zero for other curves.
  absl::Duration LastChange() const;

 private:
  enum class Kind { kChanges, kBurst, kSine, kRamp };
  struct Change {
    absl::Duration from;
    double rate;
  };
  explicit RateCurve(Kind kind) : kind_(kind) {}
  double RateOfChanges(absl::Duration passed) const;

  Kind kind_;
  std::vector<Change> changes_;  // in order of time
  double low_ = 0;
  double high_ = 0;
  absl::Duration period_ = absl::Seconds(1);  // the length, if a ramp
  absl::Duration from_;                       // ramps only
};

}  // namespace gpuscaler
