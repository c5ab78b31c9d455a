#include "gpu/mean_activity.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(MeanActivity, IsTheGrowthPerCycle) {
  MeanActivity activity;
  EXPECT_EQ(activity.SinceLastReading(1000, 50'000), std::nullopt) << "the first reading";
  EXPECT_EQ(activity.SinceLastReading(3000, 50'000 + 2000 * 77), 77);
  EXPECT_EQ(activity.SinceLastReading(4000, 50'000 + 2000 * 77), 0) << "idle";
}

TEST(MeanActivity, CountersThatBeganAnewGiveNone) {
  const struct {
    const char* what;
    uint32_t cycles;
    uint64_t sum;
  } rows[] = {
      {"no cycle has passed", 1000, 50'000},
      {"the GPU was reset", 10, 200},
      {"the sum wrapped", 2000, 7},
      {"the growth is no percentage", 1001, 60'000},
  };
  for (const auto& row : rows) {
    MeanActivity activity;
    activity.SinceLastReading(1000, 50'000);
    EXPECT_EQ(activity.SinceLastReading(row.cycles, row.sum), std::nullopt) << row.what;
    EXPECT_EQ(activity.SinceLastReading(row.cycles + 100, row.sum + 3000), 30) << row.what;
  }
}

TEST(MeanActivity, RoundedSumsAreAtMost100Percent) {
  MeanActivity activity;
  activity.SinceLastReading(1000, 0);
  EXPECT_EQ(activity.SinceLastReading(2000, 100'300), 100);
}

}  // namespace
}  // namespace gpuscaler
