// The requests per second to send over time.
#pragma once

#include <functional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace gpuscaler {

// All rates are requests per second.
class RateCurve {
 public:
  using Rate = std::function<double(absl::Duration passed)>;
  explicit RateCurve(Rate rate) : rate_(std::move(rate)) {}

  static RateCurve Constant(double rate);
  // Returns `low` for the first and last quarter of `duration` and `high` in between.
  static RateCurve Step(double low, double high, absl::Duration duration);
  // Returns `high` for the first fifth of each `period` and `low` for the rest.
  static RateCurve Burst(double low, double high, absl::Duration period);
  // Returns a wave that starts at `low` and reaches `high` in the middle of each `period`.
  static RateCurve Sine(double low, double high, absl::Duration period);

  // Returns `low` until `from`, `high` after `until`, and a line in between.
  static RateCurve Ramp(double low, double high, absl::Duration from, absl::Duration until);

  // Parses lines "SECONDS RATE": each rate holds from that second on, and it is 0 before the first.
  // Blank lines and text after # are ignored. Returns INVALID_ARGUMENT with the line and what is
  // allowed.
  static absl::StatusOr<RateCurve> Parse(absl::string_view text);

  double RateAt(absl::Duration passed) const { return rate_(passed); }

  RateCurve Times(double factor) const;

  // Returns the time of the last line of a parsed curve, or zero for other curves.
  absl::Duration LastChange() const { return last_change_; }

 private:
  Rate rate_;
  absl::Duration last_change_;
};

}  // namespace gpuscaler
