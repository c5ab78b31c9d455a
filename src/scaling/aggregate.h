// Many values into one, by the names the metadata uses.
#pragma once

#include <cstdint>
#include <vector>

#include "trigger/trigger.h"

namespace gpuscaler {

// `values` is not empty. Percentiles by nearest rank: the smallest value that at least p % of the
// values do not exceed.
double Aggregate(Aggregation aggregation, std::vector<double> values);
double Aggregate(ReplicaAggregation aggregation, std::vector<double> values);

// What was so for a time.
struct Lasting {
  double value = 0;
  int64_t nanos = 0;
};
// By how long each lasted: the average, and for p95 the smallest value that was not exceeded for at
// least 95 % of the time. Where all last for no time, each counts once.
double Aggregate(WindowAggregation aggregation, std::vector<Lasting> values);

}  // namespace gpuscaler
