#include "scaling/aggregate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gpuscaler {
namespace {

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double Average(const std::vector<double>& values) {
  return Sum(values) / static_cast<double>(values.size());
}

double Maximum(const std::vector<double>& values) { return *std::ranges::max_element(values); }
double Minimum(const std::vector<double>& values) { return *std::ranges::min_element(values); }

double Percentile(int percent, std::vector<double>& values) {
  const size_t rank = (values.size() * static_cast<size_t>(percent) + 99) / 100;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::ranges::nth_element(values, at);
  return *at;
}

double Average(const std::vector<TimedValue>& values) {
  double sum = 0;
  double all = 0;
  for (const TimedValue& timed : values) {
    sum += timed.value * static_cast<double>(timed.nanos);
    all += static_cast<double>(timed.nanos);
  }
  return sum / all;
}

double Percentile95(std::vector<TimedValue>& values) {
  std::ranges::sort(values, {}, &TimedValue::value);
  int64_t all = 0;
  for (const TimedValue& timed : values) all += timed.nanos;
  int64_t not_above = 0;
  for (const TimedValue& timed : values) {
    not_above += timed.nanos;
    if (not_above * 100 >= all * 95) return timed.value;
  }
  return values.back().value;
}

}  // namespace

double Aggregate(Aggregation aggregation, std::vector<double> values) {
  switch (aggregation) {
    case Aggregation::kMax:
      return Maximum(values);
    case Aggregation::kMin:
      return Minimum(values);
    case Aggregation::kAvg:
      return Average(values);
    case Aggregation::kSum:
      return Sum(values);
    case Aggregation::kP95:
      return Percentile(95, values);
    case Aggregation::kP99:
      break;
  }
  return Percentile(99, values);
}

double Aggregate(ReplicaAggregation aggregation, std::vector<double> values) {
  switch (aggregation) {
    case ReplicaAggregation::kAvg:
      return Average(values);
    case ReplicaAggregation::kMax:
      return Maximum(values);
    case ReplicaAggregation::kMin:
      return Minimum(values);
    case ReplicaAggregation::kP95:
      break;
  }
  return Percentile(95, values);
}

double Aggregate(WindowAggregation aggregation, std::vector<TimedValue> values) {
  if (std::ranges::all_of(values, [](const TimedValue& timed) { return timed.nanos == 0; })) {
    for (TimedValue& timed : values) timed.nanos = 1;
  }
  switch (aggregation) {
    case WindowAggregation::kAvg:
      return Average(values);
    case WindowAggregation::kMax:
      return std::ranges::max(values, {}, &TimedValue::value).value;
    case WindowAggregation::kP95:
      break;
  }
  return Percentile95(values);
}

double SumOf(const Trigger& trigger, const Totals& totals) {
  const double unreadable = totals.unreadable * trigger.target;
  if (trigger.replica_aggregation == ReplicaAggregation::kAvg) {
    return unreadable + totals.past_load + Sum(totals.loads);
  }
  if (totals.loads.empty()) return unreadable;
  return unreadable + static_cast<double>(totals.loads.size()) *
                          Aggregate(trigger.replica_aggregation, totals.loads);
}

double ValueFor(const Trigger& trigger, const Totals& totals) {
  const double sum = SumOf(trigger, totals);
  if (trigger.target_type == TargetType::kAverageValue) return sum + totals.unused;
  return totals.Replicas() == 0 ? 0 : sum / totals.Replicas();
}

}  // namespace gpuscaler
