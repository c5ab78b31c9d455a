// Percentiles of any number of latencies, in 37 KB.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// A histogram with buckets that widen with the latency. Results are never below the exact value and
// exceed it by kLatencyErrorRatio at most (or 1 us). Not thread-safe.
constexpr double kLatencyErrorRatio = 1.0 / 128;

class LatencyCounts {
 public:
  LatencyCounts();

  void Add(absl::Duration latency);  // above 12 days counts as 12 days

  int64_t count() const { return count_; }
  absl::Duration max() const { return max_; }  // exact
  absl::Duration mean() const;

  // Uses the nearest rank, with 0 < `share` <= 1. Returns zero if there are no latencies.
  absl::Duration Percentile(double share) const;

 private:
  std::vector<int64_t> counts_;
  int64_t count_ = 0;
  absl::Duration sum_;
  absl::Duration max_;
};

}  // namespace gpuscaler
