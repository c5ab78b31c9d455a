// The load of a replica over time, and its part of the mean over `window` (DESIGN 2, Window).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "absl/time/time.h"
#include "scaling/valuation.h"

namespace gpuscaler {

// The load from `begin` to `end`.
struct LoadStep {
  absl::Time begin;
  absl::Time end;
  double load = 0;
};

// Whether V is the mean over `window` of the sum of all loads. Otherwise each replica is smoothed
// by itself: windowAggregation max and p95, and replicaAggregation other than avg.
bool AveragesTheSum(const Trigger& trigger);

// When the replica stopped being counted: when its deletion began, or it was last seen. `now`: it
// is counted.
absl::Time CountedUntil(const Replica& replica, absl::Time now);

// The steps in which the replica was counted, oldest first, from `begin` to `now`. A time without
// readings counts like the next reading, and at the end like the last one. With `unread` a time for
// which it was unreadable counts that.
std::vector<LoadStep> StepsOf(const Trigger& trigger, const Replica& replica, Valuation valuation,
                              absl::Time begin, absl::Time now,
                              std::optional<double> unread = std::nullopt);

// The integral of the steps over `window`, divided by it: a time in which the replica was not
// counted is 0.
double MeanOf(std::span<const LoadStep> steps, absl::Duration window);

// The mean load of several replicas over time.
class MeanLoad {
 public:
  void Add(std::span<const LoadStep> steps);

  // The steps, none above the mean.
  std::vector<LoadStep> Limited(std::span<const LoadStep> steps) const;

  // After the last Add(), and before Limited().
  void Sort();

 private:
  // Before Sort() the change at that time; afterwards the sums from there on.
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
