// The sum of the replicas' loads, and the value that results.
#pragma once

#include <vector>

#include "trigger/trigger.h"

namespace gpuscaler {

struct Totals {
  std::vector<double> loads;  // the readable replicas'
  int unreadable = 0;
  double past_load = 0;  // earlier load within the window of replicas that are no longer counted
  double idle = 0;       // GPUs that are not in use: part of an extensive total

  int Replicas() const { return static_cast<int>(loads.size()) + unreadable; }
};

// The sum excludes idle GPUs. An unreadable replica counts the target. Loads that departed within
// the window (`past_load`) are added for replicaAggregation avg only. For max, min or p95, each
// readable replica counts that aggregate of the loads.
double SumOf(const Trigger& trigger, const Totals& totals);

// Returns the sum and the idle GPUs for AverageValue, or the sum divided by Replicas() for Value.
double ValueFor(const Trigger& trigger, const Totals& totals);

}  // namespace gpuscaler
