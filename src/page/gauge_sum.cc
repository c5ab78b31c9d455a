#include "page/gauge_sum.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace gpuscaler {

void GaugeSum::Consume(const ExpositionSample& sample) {
  sum_ += sample.value;
  is_negative_ |= sample.value < 0;
}

absl::StatusOr<double> GaugeSum::Sum(const MetricSelector& selector) const {
  if (is_negative_) {
    return absl::FailedPreconditionError(
        absl::StrCat("a series of ", selector.text, " is negative: it counts nothing"));
  }
  if (!std::isfinite(sum_)) return NotFinite(selector);
  return sum_;
}

}  // namespace gpuscaler
