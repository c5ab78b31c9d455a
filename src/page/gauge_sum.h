// The sum of the gauges that a selector picks from a page. Counters are followed one by one
// (series/series_growth.h).
#pragma once

#include "absl/status/statusor.h"
#include "page/series_picks.h"

namespace gpuscaler {

class GaugeSum : public SeriesTaker {
 public:
  void Begin() override { *this = {}; }
  void Take(const ExpositionSample& sample) override;

  // Of what was taken since Begin(). FAILED_PRECONDITION: it is infinite, or one of them is
  // negative: some say -1 for what they do not know.
  absl::StatusOr<double> Sum(const MetricSelector& selector) const;

 private:
  double sum_ = 0;
  bool is_negative_ = false;
};

}  // namespace gpuscaler
