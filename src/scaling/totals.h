// The sum of the replicas' loads, and the value that it makes (DESIGN 2).
#pragma once

#include <vector>

#include "trigger/trigger.h"

namespace gpuscaler {

struct Totals {
  std::vector<double> loads;  // the readable replicas'
  int unreadable = 0;
  double left = 0;  // the past, within the window, of replicas that are not counted any more
  double idle = 0;  // GPUs that no pod uses: part of an extensive total

  // R.
  int Replicas() const { return static_cast<int>(loads.size()) + unreadable; }
};

// V = S + m*T; another replicaAggregation f than the average gives (R - m) * f + m * T. Without the
// idle GPUs.
double SumOf(const Trigger& trigger, const Totals& totals);

// The sum for AverageValue, that divided by R for Value.
double ValueFor(const Trigger& trigger, const Totals& totals);

}  // namespace gpuscaler
