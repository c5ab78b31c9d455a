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

TEST(CounterRate, StartsAfreshAfterAnOutage) {
  CounterRate rate;
  rate.PerSecond(0, 1'000'000);
  rate.PerSecond(5, 2'000'000);
  EXPECT_EQ(rate.PerSecond(65, 32'000'000), 2) << "30 s";
  EXPECT_EQ(rate.PerSecond(70, 33'000'000), 5);
  EXPECT_EQ(rate.PerSecond(1000, 64'000'000), std::nullopt) << "31 s";
  EXPECT_EQ(rate.PerSecond(1005, 65'000'000), 5);
}

TEST(CounterRate, ReadingsThatAreAlwaysFarApartAreNoOutage) {
  CounterRate rate;
  rate.PerSecond(0, 300'000'000);
  EXPECT_EQ(rate.PerSecond(300, 600'000'000), std::nullopt) << "not known yet";
  EXPECT_EQ(rate.PerSecond(900, 900'000'000), 2);
  EXPECT_EQ(rate.PerSecond(900, 1'200'000'000), 0);
}

}  // namespace
}  // namespace gpuscaler
