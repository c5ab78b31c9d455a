#include "engine/engine_answers.h"

#include <limits>
#include <string>
#include <vector>

#include "engine/test_seconds.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::DoubleNear;
using testing::Optional;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// 10 s later: 50 more requests, which waited 100 s in total and got their first token within 0.2 s.
StoredReadings TwoReadings() {
  StoredReadings readings;
  readings.AddReading(Second(0), {.requests_done = 100,
                                  .queued_requests = 200,
                                  .queue_seconds = 40,
                                  .first_token_seconds = Histogram{{{0.2, 0}, {kUnbounded, 10}}},
                                  .output_token_seconds = Histogram{{{0.1, 0}, {kUnbounded, 0}}}});
  readings.AddReading(Second(10),
                      {.waiting = 3,
                       .running = 40,
                       .kv_cache_usage_ratio = 0.75,
                       .limit = 64,
                       .requests_done = 150,
                       .queued_requests = 250,
                       .queue_seconds = 140,
                       .first_token_seconds = Histogram{{{0.2, 100}, {kUnbounded, 110}}},
                       .output_token_seconds = Histogram{{{0.1, 20}, {kUnbounded, 20}}}});
  return readings;
}

std::optional<double> AnswerOf(EngineMetric metric, std::optional<double> max_concurrency = {}) {
  return Answers(
             {.metric = metric, .window = absl::Seconds(15), .max_concurrency = max_concurrency},
             TwoReadings().all(), absl::Seconds(20))
      .back();
}

TEST(EngineAnswers, EachMetricReturnsItsValue) {
  EXPECT_THAT(AnswerOf(EngineMetric::kRequestsWaiting), Optional(3));
  EXPECT_THAT(AnswerOf(EngineMetric::kRequestsRunning), Optional(40));
  EXPECT_THAT(AnswerOf(EngineMetric::kRequestsInFlight), Optional(43));
  EXPECT_THAT(AnswerOf(EngineMetric::kKvCacheUsagePercent), Optional(75));
  EXPECT_THAT(AnswerOf(EngineMetric::kQueueWaitMs), Optional(2000));
  EXPECT_THAT(AnswerOf(EngineMetric::kRequestRate), Optional(5));
  EXPECT_THAT(AnswerOf(EngineMetric::kTimeToFirstTokenMs), Optional(DoubleNear(190, 1e-9)));
  EXPECT_THAT(AnswerOf(EngineMetric::kTimePerOutputTokenMs), Optional(DoubleNear(95, 1e-9)));
  EXPECT_THAT(AnswerOf(EngineMetric::kPressurePercent), Optional(75));
}

TEST(EngineAnswers, UnreportedValueIsUnknownNotZero) {
  StoredReadings readings;
  readings.AddReading(Second(0), {.waiting = 3});
  for (const EngineMetric metric :
       {EngineMetric::kRequestsRunning, EngineMetric::kRequestsInFlight,
        EngineMetric::kKvCacheUsagePercent, EngineMetric::kPressurePercent,
        EngineMetric::kQueueWaitMs, EngineMetric::kRequestRate, EngineMetric::kTimeToFirstTokenMs,
        EngineMetric::kTimePerOutputTokenMs}) {
    EXPECT_THAT(Answers({.metric = metric, .window = absl::Seconds(15)}, readings.all(),
                        absl::ZeroDuration()),
                testing::ElementsAre(std::nullopt))
        << InputsOf(metric);
  }
}

TEST(EngineAnswers, SumBeyondAllNumbersIsUnknown) {
  StoredReadings readings;
  readings.AddReading(Second(0), {.waiting = 1e308, .running = 1e308});
  EXPECT_THAT(
      Answers({.metric = EngineMetric::kRequestsInFlight}, readings.all(), absl::ZeroDuration()),
      testing::ElementsAre(std::nullopt));
}

// The pressure (docs/demand.md).
TEST(EngineAnswers, PressureIsTheMaximumOfCacheAndRequests) {
  const TimedReading reading{
      .waiting = 10, .running = 40, .kv_cache_usage_ratio = 0.3, .limit = 50};
  EXPECT_THAT(PressurePercent(reading, 100, 200), Optional(100)) << "the engine's own limit first";
  TimedReading without = reading;
  without.limit = std::nullopt;
  EXPECT_THAT(PressurePercent(without, 100, 200), Optional(50)) << "then maxConcurrency";
  EXPECT_THAT(PressurePercent(without, std::nullopt, 200), Optional(30)) << "the cache is fuller";
  EXPECT_THAT(PressurePercent(without, std::nullopt, 40), Optional(125))
      << "then the observed batch";
  EXPECT_THAT(PressurePercent(without, std::nullopt, std::nullopt), Optional(30 + 25));
}

TEST(EngineAnswers, PressureWithPartialReadings) {
  EXPECT_THAT(PressurePercent({.kv_cache_usage_ratio = 0.3}, {}, {}), Optional(30));
  EXPECT_THAT(PressurePercent({.waiting = 10, .running = 40}, 100, {}), Optional(50));
  EXPECT_THAT(PressurePercent({.waiting = 2, .running = 0}, {}, {}), Optional(200))
      << "nothing runs yet, and two wait";
  EXPECT_THAT(PressurePercent({.waiting = 0, .running = 0, .limit = 0}, {}, {}), Optional(0));
  EXPECT_EQ(PressurePercent({.waiting = 2}, {}, {}), std::nullopt) << "Triton's queue alone";
}

TEST(EngineAnswers, OnlyLatenciesNeedHistograms) {
  EXPECT_TRUE(NeedsHistograms(EngineMetric::kTimeToFirstTokenMs));
  EXPECT_TRUE(NeedsHistograms(EngineMetric::kTimePerOutputTokenMs));
  EXPECT_FALSE(NeedsHistograms(EngineMetric::kQueueWaitMs));
}

}  // namespace
}  // namespace gpuscaler
