#include "simulate/load_shape.h"

#include <algorithm>

namespace gpuscaler {

double LoadShape::RateAt(absl::Duration passed) const {
  const double risen = absl::FDivDuration(passed - quiet, rise);
  const double left = absl::FDivDuration(End() - passed, fall);
  return peak * std::clamp(std::min(risen, left), 0.0, 1.0);
}

}  // namespace gpuscaler
