#include "scaling/aggregate.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(Aggregate, ComputesMaxMinAvgAndSum) {
  const std::vector<double> values = {40, 10, 20, 30};
  EXPECT_EQ(Aggregate(Aggregation::kMax, values), 40);
  EXPECT_EQ(Aggregate(Aggregation::kMin, values), 10);
  EXPECT_EQ(Aggregate(Aggregation::kAvg, values), 25);
  EXPECT_EQ(Aggregate(Aggregation::kSum, values), 100);
}

TEST(Aggregate, PercentilesAreByNearestRank) {
  std::vector<double> values;
  for (int i = 1; i <= 100; ++i) values.push_back(i);
  EXPECT_EQ(Aggregate(Aggregation::kP95, values), 95);
  EXPECT_EQ(Aggregate(Aggregation::kP99, values), 99);
  values.resize(20);
  EXPECT_EQ(Aggregate(Aggregation::kP95, values), 19);
  EXPECT_EQ(Aggregate(Aggregation::kP99, values), 20);
  EXPECT_EQ(Aggregate(ReplicaAggregation::kP95, {7}), 7);
}

TEST(Aggregate, WindowValuesAreWeightedByTime) {
  const std::vector<TimedValue> values = {{.value = 90, .nanos = 1}, {.value = 30, .nanos = 3}};
  EXPECT_EQ(Aggregate(WindowAggregation::kAvg, values), 45);
  EXPECT_EQ(Aggregate(WindowAggregation::kMax, values), 90);
  EXPECT_EQ(Aggregate(WindowAggregation::kP95, values), 90);
  EXPECT_EQ(Aggregate(WindowAggregation::kP95, {{90, 5}, {30, 95}}), 30);
  EXPECT_EQ(Aggregate(WindowAggregation::kP95, {{1, 1}, {2, 1}}), 2);
  EXPECT_EQ(Aggregate(WindowAggregation::kAvg, {{90, 0}, {30, 0}}), 60);
}

}  // namespace
}  // namespace gpuscaler
