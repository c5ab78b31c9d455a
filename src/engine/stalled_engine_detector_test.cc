#include "engine/stalled_engine_detector.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::Optional;

// The state of vLLM after an abort of all requests.
ModelReading Aborted() {
  return {.waiting = 3,
          .running = 40,
          .kv_cache_usage_ratio = 0.9,
          .requests_done = 100,
          .prompt_tokens = 1000,
          .generation_tokens = 5000};
}

absl::Time Minute(int minute) {
  return absl::FromUnixSeconds(1'767'225'600) + minute * absl::Minutes(1);
}

TEST(StalledEngineDetector, UnchangedSinceTheFirstEqualReading) {
  StalledEngineDetector still;
  EXPECT_EQ(still.Since(), std::nullopt);
  still.Take(Minute(0), Aborted());
  still.Take(Minute(1), Aborted());
  EXPECT_THAT(still.Since(), Optional(Minute(0)));
  still.Take(Minute(60), Aborted());
  EXPECT_THAT(still.Since(), Optional(Minute(0))) << "counters that are equal an hour later";
}

TEST(StalledEngineDetector, AnyChangeEndsTheSteadyState) {
  for (const ModelNumber moved :
       {&ModelReading::generation_tokens, &ModelReading::prompt_tokens,
        &ModelReading::requests_done, &ModelReading::preemptions, &ModelReading::waiting,
        &ModelReading::running, &ModelReading::counters_began}) {
    StalledEngineDetector still;
    still.Take(Minute(0), Aborted());
    ModelReading other = Aborted();
    other.*moved = (other.*moved).value_or(0) + 1;
    still.Take(Minute(1), other);
    EXPECT_THAT(still.Since(), Optional(Minute(1)));
  }
}

TEST(StalledEngineDetector, CacheChangeAloneDoesNotCount) {
  StalledEngineDetector still;
  still.Take(Minute(0), Aborted());
  ModelReading other = Aborted();
  other.kv_cache_usage_ratio = 0.8;
  still.Take(Minute(1), other);
  EXPECT_THAT(still.Since(), Optional(Minute(0)));
}

TEST(StalledEngineDetector, EngineWithoutRequestsIsNotSteady) {
  ModelReading idle = Aborted();
  idle.waiting = idle.running = 0;
  StalledEngineDetector still;
  still.Take(Minute(0), Aborted());
  still.Take(Minute(1), idle);
  EXPECT_EQ(still.Since(), std::nullopt);
  still.Take(Minute(2), Aborted());
  EXPECT_THAT(still.Since(), Optional(Minute(2)));
}

TEST(StalledEngineDetector, EngineWithoutProgressCounterIsNotSteady) {
  ModelReading without = Aborted();
  for (const ModelNumber counter : kModelCounters) without.*counter = std::nullopt;
  without.preemptions = 1;
  StalledEngineDetector still;
  still.Take(Minute(0), without);
  still.Take(Minute(9), without);
  EXPECT_EQ(still.Since(), std::nullopt);
}

}  // namespace
}  // namespace gpuscaler
