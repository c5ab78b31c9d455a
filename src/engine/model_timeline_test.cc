#include "engine/model_timeline.h"

#include <vector>

#include "engine/test_seconds.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

TEST(ModelTimeline, HasAPointPerReadingInTheLookBack) {
  ModelTimeline timeline;
  for (int second = 0; second < 10; ++second) {
    timeline.AddReading(Second(second), {.waiting = second});
  }
  const EngineQuery query{.metric = EngineMetric::kRequestsWaiting,
                          .look_back = absl::Milliseconds(2500)};
  EXPECT_THAT(timeline.Points(query, Second(9), kLongestGap),
              ElementsAre(SignalPoint{Second(6), 6}, SignalPoint{Second(7), 7},
                          SignalPoint{Second(8), 8}, SignalPoint{Second(9), 9}))
      << "with the last reading before the look back";
  EXPECT_THAT(timeline.Points({.metric = EngineMetric::kRequestsWaiting}, Second(60), kLongestGap),
              ElementsAre(SignalPoint{Second(9), 9}))
      << "no time at all: the newest";
}

TEST(ModelTimeline, RateCoversTheWindowBeforeEachPoint) {
  ModelTimeline timeline;
  for (int second = 0; second <= 6; ++second) {
    // Ten per second, and none from the fourth second on.
    timeline.AddReading(Second(second), {.requests_done = 10.0 * std::min(second, 4)});
  }
  const EngineQuery query{.metric = EngineMetric::kRequestRate,
                          .window = absl::Seconds(2),
                          .look_back = absl::Seconds(1)};
  EXPECT_THAT(timeline.Points(query, Second(6), kLongestGap),
              ElementsAre(SignalPoint{Second(4), 10}, SignalPoint{Second(5), 5},
                          SignalPoint{Second(6), 0}));
}

TEST(ModelTimeline, RateIsUnknownBeforeHalfOfItsWindow) {
  ModelTimeline timeline;
  timeline.AddReading(Second(0), {.requests_done = 0});
  timeline.AddReading(Second(1), {.requests_done = 10});
  const EngineQuery query{.metric = EngineMetric::kRequestRate,
                          .window = absl::Seconds(4),
                          .look_back = absl::Seconds(4)};
  EXPECT_THAT(
      timeline.Points(query, Second(1), kLongestGap),
      ElementsAre(SignalPoint{Second(0), std::nullopt}, SignalPoint{Second(1), std::nullopt}));
}

TEST(ModelTimeline, LimitIsTheLargestBatchWhileRequestsWaited) {
  const EngineQuery pressure{.metric = EngineMetric::kPressurePercent};
  ModelTimeline timeline;
  const auto now = [&](int second) {
    return timeline.Points(pressure, Second(second), kLongestGap).back().value;
  };
  timeline.AddReading(Second(0), {.waiting = 0, .running = 90, .generation_tokens = 1000});
  EXPECT_THAT(now(0), Optional(0)) << "no request waited: the batch may be larger";
  timeline.AddReading(Second(1), {.waiting = 1, .running = 1, .generation_tokens = 1100});
  timeline.AddReading(Second(2), {.waiting = 0, .running = 2, .generation_tokens = 1200});
  EXPECT_THAT(now(2), Optional(0)) << "a new request proves no limit of 1";
  for (int second = 3; second <= 13; ++second) {
    timeline.AddReading(Second(second), {.waiting = 5, .running = 64, .generation_tokens = 2000});
  }
  EXPECT_THAT(now(13), Optional(100.0 * 69 / 64));
  timeline.AddReading(Second(14), {.waiting = 1, .running = 32, .generation_tokens = 3000});
  timeline.AddReading(Second(15), {.waiting = 0, .running = 16, .generation_tokens = 4000});
  EXPECT_THAT(now(15), Optional(25));

  timeline.AddReading(Second(16), {.waiting = 0, .running = 16, .generation_tokens = 0});
  EXPECT_THAT(now(16), Optional(0)) << "another process may have another limit";
}

TEST(ModelTimeline, HasTheBatchAtEachPoint) {
  ModelTimeline timeline;
  for (int second = 0; second < 20; ++second) {
    timeline.AddReading(Second(second), {.waiting = 1, .running = 8, .kv_cache_usage_ratio = 0.5});
  }
  const EngineQuery query{.metric = EngineMetric::kPressurePercent, .look_back = absl::Seconds(5)};
  const EngineBatch batch = timeline.Batch(query, Second(19));
  EXPECT_THAT(batch.learnt_limit, Optional(8));
  EXPECT_EQ(batch.learnt_at, Second(19));
  EXPECT_EQ(batch.reported_limit, std::nullopt);
  EXPECT_EQ(batch.readings.size(), timeline.Points(query, Second(19), kLongestGap).size());
  EXPECT_EQ(batch.readings.front(),
            (BatchReading{.waiting = 1, .running = 8, .kv_cache_usage_ratio = 0.5}));
  EXPECT_TRUE(ModelTimeline().Batch(query, Second(0)).readings.empty());
}

TEST(ModelTimeline, DemandOutlivesItsReadings) {
  ModelTimeline timeline;
  EXPECT_EQ(timeline.Demand({}), std::nullopt);
  for (int second = 0; second <= 100; ++second) {
    timeline.AddReading(Second(second), {.waiting = 0,
                                         .running = 4,
                                         .requests_done = 2.0 * second,
                                         .generation_tokens = 100.0 * second,
                                         .answers = 2.0 * second,
                                         .answer_tokens = 100.0 * second});
    timeline.Forget(Second(second - 5));
  }
  const std::optional<EngineDemand> demand = timeline.Demand({});
  ASSERT_TRUE(demand.has_value());
  double answers = 0, tokens = 0;
  for (const RequestBin& bin : demand->bins) {
    answers += bin.answers;
    tokens += bin.answer_tokens;
  }
  EXPECT_NEAR(answers, 200, 1e-6);
  EXPECT_NEAR(tokens, 10'000, 1e-6);
  EXPECT_GT(demand->service.seconds, 0);
}

TEST(ModelTimeline, ForgetsReadingsBeforeTheLookBack) {
  ModelTimeline timeline;
  for (int second = 0; second < 100; ++second) {
    timeline.AddReading(Second(second), {.waiting = second});
    timeline.Forget(Second(second - 10));
  }
  const EngineQuery all{.metric = EngineMetric::kRequestsWaiting, .look_back = absl::Hours(1)};
  const std::vector<SignalPoint> points = timeline.Points(all, Second(100), kLongestGap);
  EXPECT_LE(points.front().at, Second(89)) << "what a query of 10 s needs is there";
  EXPECT_LE(points.size(), 24u) << "twice that at most";
}

TEST(ModelTimeline, ReportsSinceWhenRequestsAreUnchanged) {
  ModelTimeline timeline;
  for (int second = 0; second < 5; ++second) {
    timeline.AddReading(Second(second), {.running = 3, .generation_tokens = 1000.0 * (second > 1)});
  }
  EXPECT_THAT(timeline.UnchangedSince(), Optional(Second(2)));
}

TEST(ModelTimeline, WithoutReadingsHasNoPoints) {
  EXPECT_THAT(ModelTimeline().Points({}, Second(0), kLongestGap), IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
