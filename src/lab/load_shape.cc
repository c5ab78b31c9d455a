#include "lab/load_shape.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_format.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kStep = absl::Seconds(10);  // simulated time between points

}  // namespace

double LoadShape::RateAt(absl::Duration passed) const {
  const double risen = absl::FDivDuration(passed - quiet, rise);
  const double left = absl::FDivDuration(End() - passed, fall);
  return peak * std::clamp(std::min(risen, left), 0.0, 1.0);
}

RateCurve CurveOf(const LoadShape& shape, int speed) {
  if (shape.End() == absl::InfiniteDuration()) return RateCurve::Constant(shape.peak * speed);
  std::string lines;
  for (absl::Duration at; at < shape.End(); at += kStep) {
    absl::StrAppendFormat(&lines, "%.6f %.6f\n", absl::ToDoubleSeconds(at / speed),
                          shape.RateAt(at + kStep / 2) * speed);
  }
  return RateCurve::Parse(lines).value();
}

}  // namespace gpuscaler
