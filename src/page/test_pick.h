// Reads one selector from one exposition, for tests.
#pragma once

#include <array>

#include "base/status_macros.h"
#include "page/gauge_sum.h"
#include "page/series_picks.h"

namespace gpuscaler {

inline absl::Status ReadOne(const MetricSelector& selector, SeriesConsumer& taker,
                            absl::string_view page,
                            ExpositionFormat format = ExpositionFormat::kText,
                            IfAbsent if_absent = IfAbsent::kError) {
  const std::array picks = {
      SeriesPick{.selector = &selector, .taker = &taker, .if_absent = if_absent}};
  return ReadSeries(page, format, picks).front();
}

inline absl::StatusOr<double> SumOf(const MetricSelector& selector, absl::string_view page,
                                    ExpositionFormat format = ExpositionFormat::kText,
                                    IfAbsent if_absent = IfAbsent::kError) {
  GaugeSum sum;
  RETURN_IF_ERROR(ReadOne(selector, sum, page, format, if_absent));
  return sum.Sum(selector);
}

}  // namespace gpuscaler
