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

// The loads of a trigger's replicas, from which its value results.
struct Totals {
  std::vector<double> loads;  // the readable replicas'
  int unreadable = 0;
  double past_load = 0;  // earlier load within the window of replicas that are no longer counted
  double unused = 0;     // the load of GPUs that are not in use; extensive metrics only

  int Replicas() const { return static_cast<int>(loads.size()) + unreadable; }
};

// Returns the sum of the replicas' loads, without unused GPUs. An unreadable replica adds the
// target. With replicaAggregation max, min or p95, each readable replica adds that aggregate of all
// loads in place of its own. With avg, `past_load` is added.
double SumOf(const Trigger& trigger, const Totals& totals);

// Returns the value for KEDA. AverageValue: the sum and the load of unused GPUs. Value: the sum
// divided by Replicas().
double ValueFor(const Trigger& trigger, const Totals& totals);

}  // namespace gpuscaler
