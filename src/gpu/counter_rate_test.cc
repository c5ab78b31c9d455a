#include "gpu/counter_rate.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(CounterRate, IsTheGrowthBetweenTwoReadings) {
  CounterRate rate;
  EXPECT_EQ(rate.PerSecond(1000, 1'000'000), std::nullopt);
  EXPECT_EQ(rate.PerSecond(1500, 1'500'000), 1000);
  EXPECT_EQ(rate.PerSecond(1500, 2'500'000), 0);
}

TEST(CounterRate, SameInstantAgainKeepsTheRate) {
  CounterRate rate;
  rate.PerSecond(0, 1'000'000);
  EXPECT_EQ(rate.PerSecond(5, 2'000'000), 5);
  EXPECT_EQ(rate.PerSecond(5, 2'000'000), 5);
}

TEST(CounterRate, CounterOrClockThatWentBackGivesNoRateOnce) {
  CounterRate rate;
  rate.PerSecond(100, 1'000'000);
  EXPECT_EQ(rate.PerSecond(10, 2'000'000), std::nullopt);
  EXPECT_EQ(rate.PerSecond(20, 3'000'000), 10);
  EXPECT_EQ(rate.PerSecond(30, 1'000'000), std::nullopt);
  EXPECT_EQ(rate.PerSecond(37, 2'000'000), 7);
}

}  // namespace
}  // namespace gpuscaler
