#include "scaling/totals.h"

#include <numeric>

#include "scaling/aggregate.h"

namespace gpuscaler {

double SumOf(const Trigger& trigger, const Totals& totals) {
  const double unreadable = totals.unreadable * trigger.target;
  if (trigger.replica_aggregation == ReplicaAggregation::kAvg) {
    return unreadable + totals.past_load +
           std::accumulate(totals.loads.begin(), totals.loads.end(), 0.0);
  }
  if (totals.loads.empty()) return unreadable;
  return unreadable + static_cast<double>(totals.loads.size()) *
                          Aggregate(trigger.replica_aggregation, totals.loads);
}

double ValueFor(const Trigger& trigger, const Totals& totals) {
  const double sum = SumOf(trigger, totals);
  if (trigger.target_type == TargetType::kAverageValue) return sum + totals.idle;
  return totals.Replicas() == 0 ? 0 : sum / totals.Replicas();
}

}  // namespace gpuscaler
