#include "engine/batch_limit_estimator.h"

#include "engine/test_seconds.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::Optional;

TimedReading AtSecond(int second, double running, double waiting) {
  return {.at = Second(second), .waiting = waiting, .running = running};
}

// One reading a second.
void KeepReading(BatchLimitEstimator& batch, int from, int to, double running, double waiting) {
  for (int second = from; second <= to; ++second) {
    batch.Take(AtSecond(second, running, waiting));
  }
}

TEST(BatchLimitEstimator, NewRequestsDoNotProveAFullBatch) {
  BatchLimitEstimator batch;
  KeepReading(batch, 0, 3, 1, 0);
  batch.Take(AtSecond(4, 1, 1));
  batch.Take(AtSecond(5, 2, 0));
  EXPECT_EQ(batch.Limit(), std::nullopt);
  KeepReading(batch, 6, 14, 2, 1);
  EXPECT_EQ(batch.Limit(), std::nullopt) << "not long enough";
  batch.Take(AtSecond(15, 2, 0));
  KeepReading(batch, 16, 24, 2, 1);
  EXPECT_EQ(batch.Limit(), std::nullopt) << "no request waited in between";
}

TEST(BatchLimitEstimator, FullIfRequestsWaitAndNoMoreRun) {
  BatchLimitEstimator batch;
  KeepReading(batch, 0, 9, 64, 5);
  EXPECT_EQ(batch.Limit(), std::nullopt);
  batch.Take(AtSecond(10, 63, 5));
  EXPECT_THAT(batch.Limit(), Optional(64)) << "one place may be free for a moment";
}

TEST(BatchLimitEstimator, NotFullWhileMoreRequestsStart) {
  BatchLimitEstimator batch;
  for (int second = 0; second < 60; ++second) batch.Take(AtSecond(second, second, 5));
  EXPECT_EQ(batch.Limit(), std::nullopt);
  KeepReading(batch, 60, 70, 60, 5);
  EXPECT_THAT(batch.Limit(), Optional(60));
}

// Prefills that fill a whole step keep requests waiting while the batch size varies.
TEST(BatchLimitEstimator, NotFullWhileTheBatchVaries) {
  BatchLimitEstimator batch;
  for (int second = 0; second < 60; ++second) batch.Take(AtSecond(second, 6 + second % 3, 5));
  EXPECT_EQ(batch.Limit(), std::nullopt);
}

TEST(BatchLimitEstimator, RequestsThatWaitForTheCacheShowNoLimit) {
  BatchLimitEstimator batch;
  for (int second = 0; second < 60; ++second) {
    TimedReading reading = AtSecond(second, 20, 5);
    reading.kv_cache_usage_ratio = second < 40 ? 0.85 : 0.84;
    batch.Take(reading);
    if (second == 39) {
      EXPECT_EQ(batch.Limit(), std::nullopt);
      EXPECT_EQ(batch.LearntAt(), absl::InfinitePast());
    }
  }
  EXPECT_THAT(batch.Limit(), Optional(20));
  EXPECT_EQ(batch.LearntAt(), Second(59));
}

TEST(BatchLimitEstimator, LimitOnlyRises) {
  BatchLimitEstimator batch;
  KeepReading(batch, 0, 10, 8, 5);
  KeepReading(batch, 11, 30, 4, 5);
  EXPECT_THAT(batch.Limit(), Optional(8));
  batch.Take(AtSecond(31, 20, 0));
  EXPECT_THAT(batch.Limit(), Optional(20)) << "more requests run than the learnt limit";
}

TEST(BatchLimitEstimator, TwoReadingsAreTooFewHoweverFarApart) {
  BatchLimitEstimator batch;
  batch.Take(AtSecond(0, 8, 1));
  batch.Take(AtSecond(60, 8, 1));
  EXPECT_EQ(batch.Limit(), std::nullopt);
  batch.Take(AtSecond(120, 8, 1));
  EXPECT_THAT(batch.Limit(), Optional(8));
}

TEST(BatchLimitEstimator, RestartForgetsTheLimit) {
  BatchLimitEstimator batch;
  KeepReading(batch, 0, 10, 8, 5);
  TimedReading first = AtSecond(11, 8, 5);
  first.continues = false;
  batch.Take(first);
  EXPECT_EQ(batch.Limit(), std::nullopt);
  KeepReading(batch, 12, 20, 8, 5);
  EXPECT_EQ(batch.Limit(), std::nullopt) << "readings of the old process do not count";
  batch.Take(AtSecond(21, 8, 5));
  EXPECT_THAT(batch.Limit(), Optional(8));
}

TEST(BatchLimitEstimator, NoLimitWithoutGauges) {
  BatchLimitEstimator batch;
  for (int second = 0; second < 20; ++second) {
    batch.Take({.at = Second(second), .waiting = 5});
    batch.Take({.at = Second(second) + absl::Milliseconds(500), .running = 5});
  }
  EXPECT_EQ(batch.Limit(), std::nullopt);
}

}  // namespace
}  // namespace gpuscaler
