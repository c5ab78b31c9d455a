// The sum of the replicas' loads, and the value that results.
#pragma once

#include <vector>

#include "trigger/trigger.h"

namespace gpuscaler {

struct Totals {
  std::vector<double> loads;  // the readable replicas'
  int unreadable = 0;
  double past_load = 0;  // past within the window of replicas that are no longer counted
  double idle = 0;       // GPUs that are not in use: part of an extensive total

  // Returns R.
  int Replicas() const { return static_cast<int>(loads.size()) + unreadable; }
};

// Returns V = S + m*T without idle GPUs. With a replicaAggregation f other than avg: (R - m) * f +
// m * T.
double SumOf(const Trigger& trigger, const Totals& totals);

// Returns the sum for AverageValue, or the sum divided by R for Value.
double ValueFor(const Trigger& trigger, const Totals& totals);

}  // namespace gpuscaler
