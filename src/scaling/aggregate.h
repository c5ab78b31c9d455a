// Aggregates many values into one. The enumerators are those of the metadata.
#pragma once

#include <cstdint>
#include <vector>

#include "trigger/trigger.h"

namespace gpuscaler {

// Requires non-empty `values`. A percentile is the nearest rank: the smallest value that at least p
// % of the values do not exceed.
double Aggregate(Aggregation aggregation, std::vector<double> values);
double Aggregate(ReplicaAggregation aggregation, std::vector<double> values);

// A value and how long it lasted.
struct TimedValue {
  double value = 0;
  int64_t nanos = 0;
};
// Values are weighted by time. p95 is the smallest value that was not exceeded for at least 95 % of
// the time. If all durations are zero, each value counts once.
double Aggregate(WindowAggregation aggregation, std::vector<TimedValue> values);

}  // namespace gpuscaler
