// Percentiles of any number of latencies, in 37 KB.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// Counts in buckets whose width grows with the latency: what it says is never less than what was
// added, and more by kLatencyErrorRatio at most (or 1 us). Not thread-safe.
constexpr double kLatencyErrorRatio = 1.0 / 128;

class LatencyCounts {
 public:
  LatencyCounts();

  void Add(absl::Duration latency);  // above 12 days counts as that

  int64_t count() const { return count_; }
  absl::Duration max() const { return max_; }  // exact
  absl::Duration mean() const;

  // By nearest rank, of 0 < `share` <= 1: the latency that so many of all did not exceed. Zero when
  // there is none.
  absl::Duration Percentile(double share) const;

 private:
  std::vector<int64_t> counts_;
  int64_t count_ = 0;
  absl::Duration sum_;
  absl::Duration max_;
};

}  // namespace gpuscaler
