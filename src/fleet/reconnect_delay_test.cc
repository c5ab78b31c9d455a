#include "fleet/reconnect_delay.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(ReconnectDelay, GrowsFromOneSecondToTen) {
  EXPECT_EQ(ReconnectDelay(1, 0), absl::Seconds(1));
  EXPECT_EQ(ReconnectDelay(1, 1), absl::Seconds(1.5));
  EXPECT_EQ(ReconnectDelay(2, 0), absl::Seconds(2));
  EXPECT_EQ(ReconnectDelay(3, 0.5), absl::Seconds(5));
  EXPECT_EQ(ReconnectDelay(1'000'000, 1), absl::Seconds(10));
}

TEST(ReconnectDelay, LongestDelayHasJitter) {
  for (const int failures : {4, 5, 10, 1'000'000}) {
    EXPECT_LT(ReconnectDelay(failures, 0), absl::Seconds(7)) << failures;
    EXPECT_LT(ReconnectDelay(failures, 0.5), ReconnectDelay(failures, 0.75)) << failures;
  }
}

}  // namespace
}  // namespace gpuscaler
