// Reads one selector from one exposition, for tests.
#pragma once

#include <array>

#include "base/status_macros.h"
#include "page/gauge_sum.h"
#include "page/series_queries.h"

namespace gpuscaler {

inline absl::Status ReadOne(const MetricSelector& selector, SeriesConsumer& consumer,
                            absl::string_view page,
                            ExpositionFormat format = ExpositionFormat::kText,
                            bool zero_if_absent = false) {
  const std::array queries = {
      SeriesQuery{.selector = &selector, .consumer = &consumer, .zero_if_absent = zero_if_absent}};
  return ReadSeries(page, format, queries).front();
}

inline absl::StatusOr<double> SumOf(const MetricSelector& selector, absl::string_view page,
                                    ExpositionFormat format = ExpositionFormat::kText,
                                    bool zero_if_absent = false) {
  GaugeSum sum;
  RETURN_IF_ERROR(ReadOne(selector, sum, page, format, zero_if_absent));
  return sum.Sum(selector);
}

}  // namespace gpuscaler
