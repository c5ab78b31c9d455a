// Many values into one, by the names the metadata uses.
#pragma once

#include <vector>

#include "scaling/trigger.h"

namespace gpuscaler {

// `values` is not empty. Percentiles by nearest rank: the smallest value that at least p % of the
// values do not exceed.
double Aggregate(Aggregation aggregation, std::vector<double> values);
double Aggregate(ReplicaAggregation aggregation, std::vector<double> values);
double Aggregate(WindowAggregation aggregation, std::vector<double> values);

}  // namespace gpuscaler
