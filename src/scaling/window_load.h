// The load of a replica over time, and its part of the mean over `window`.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "absl/time/time.h"
#include "scaling/load_rule.h"

namespace gpuscaler {

// The load from `begin` to `end`.
struct LoadStep {
  absl::Time begin;
  absl::Time end;
  double load = 0;
};

// Returns whether the value is the mean over `window` of the sum of all loads. With
// windowAggregation max or p95, or a replicaAggregation other than avg, each replica is smoothed by
// itself.
bool AveragesTheSum(const Trigger& trigger);

// A replica stops counting when its deletion begins, or when it is last seen. Returns `now` if it
// counts.
absl::Time CountedUntil(const Replica& replica, absl::Time now);

// Returns the steps from `begin` to `now` in which the replica was counted, oldest first. A time
// without readings has the load of the next reading, or at the end that of the last one. With
// `unread`, a time in which it was unreadable has that load.
std::vector<LoadStep> StepsOf(const Trigger& trigger, const Replica& replica, LoadRule load_rule,
                              absl::Time begin, absl::Time now,
                              std::optional<double> unread = std::nullopt);

// The mean is the integral of the steps divided by `window`. A time in which the replica was not
// counted adds 0.
double MeanOf(std::span<const LoadStep> steps, absl::Duration window);

// The mean load of several replicas over time. Not thread-safe.
class MeanLoad {
 public:
  void Add(std::span<const LoadStep> steps);

  // Each step is limited to the mean. Requires Sort().
  std::vector<LoadStep> Limited(std::span<const LoadStep> steps) const;

  // Must be called after the last Add().
  void Sort();

 private:
  // Before Sort() the change at that time, then the prefix sum.
  struct Edge {
    absl::Time at;
    double load = 0;
    int replicas = 0;
  };
  using Edges = std::vector<Edge>;
  double LimitAt(Edges::const_iterator next, double load) const;

  Edges edges_;
};

}  // namespace gpuscaler
