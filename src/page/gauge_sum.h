// The sum of the gauges that a selector matches. Counters are followed one by one
// (engine/series_growth.h).
#pragma once

#include "absl/status/statusor.h"
#include "page/series_queries.h"

namespace gpuscaler {

// Not thread-safe.
class GaugeSum : public SeriesConsumer {
 public:
  void Begin() override { *this = {}; }
  void Consume(const ExpositionSample& sample) override;

  // Returns the sum of the samples since Begin(). FAILED_PRECONDITION: it is infinite, or a value
  // is negative, because some servers export -1 for unknown.
  absl::StatusOr<double> Sum(const MetricSelector& selector) const;

 private:
  double sum_ = 0;
  bool is_negative_ = false;
};

}  // namespace gpuscaler
