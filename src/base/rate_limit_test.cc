#include "base/rate_limit.h"

#include "base/fake_clock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(RateLimit, LimitsEachPeriodAndCountsDroppedLines) {
  FakeClock clock;
  RateLimit limit(clock, 2, absl::Seconds(10));
  EXPECT_EQ(limit.Pass(), 0);
  EXPECT_EQ(limit.Pass(), 0);
  EXPECT_EQ(limit.Pass(), std::nullopt);
  EXPECT_EQ(limit.Pass(), std::nullopt);
  clock.Advance(absl::Seconds(10));
  EXPECT_EQ(limit.Pass(), 2);
  EXPECT_EQ(limit.Pass(), 0);
}

}  // namespace
}  // namespace gpuscaler
