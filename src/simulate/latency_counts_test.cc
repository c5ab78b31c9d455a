#include "simulate/latency_counts.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(LatencyCounts, PercentilesAreWithinTheErrorRatio) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> seconds(-3, 2);
  LatencyCounts counts;
  std::vector<absl::Duration> all;
  for (int i = 0; i < 20'000; ++i) {
    all.push_back(absl::Microseconds(std::ceil(1e6 * seconds(random))));
    counts.Add(all.back());
  }
  std::sort(all.begin(), all.end());
  for (const double share : {0.0001, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(all.size())));
    const absl::Duration exact = all[rank - 1];
    EXPECT_GE(counts.Percentile(share), exact) << share;
    EXPECT_LE(counts.Percentile(share), exact * (1 + kLatencyErrorRatio)) << share;
  }
  EXPECT_EQ(counts.max(), all.back());
}

TEST(LatencyCounts, ShortAndLongLatenciesHaveABucket) {
  for (const absl::Duration latency :
       {absl::ZeroDuration(), absl::Microseconds(1), absl::Microseconds(127),
        absl::Microseconds(128), absl::Microseconds(255), absl::Microseconds(256),
        absl::Microseconds(257), absl::Hours(1), absl::Hours(24 * 30)}) {
    LatencyCounts counts;
    counts.Add(latency);
    EXPECT_EQ(counts.Percentile(0.5), latency == absl::Hours(24 * 30)
                                          ? absl::Microseconds((int64_t{1} << 40) - 1)
                                          : latency);
    EXPECT_EQ(counts.max(), latency);
    EXPECT_EQ(counts.mean(), latency);
  }
}

TEST(LatencyCounts, ZeroIfEmpty) {
  const LatencyCounts counts;
  EXPECT_EQ(counts.Percentile(0.99), absl::ZeroDuration());
  EXPECT_EQ(counts.mean(), absl::ZeroDuration());
}

}  // namespace
}  // namespace gpuscaler
