#include "signal/frozen.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::Optional;

constexpr absl::Duration kFrozenWindow = absl::Minutes(5);
const absl::Time kNow = absl::FromUnixSeconds(1'767'225'600);
const absl::Time kLongAgo = kNow - absl::Hours(1);

// As vLLM is after an abort of all requests.
ModelReading Aborted() {
  return {.waiting = 3,
          .running = 40,
          .kv_cache_usage_ratio = 0.9,
          .requests_done = 100,
          .prompt_tokens = 1000,
          .generation_tokens = 5000};
}

// Every minute for so long, up to now.
std::vector<TimedReading> For(absl::Duration time, const ModelReading& reading = Aborted()) {
  std::vector<TimedReading> readings;
  for (absl::Time at = kNow - time; at <= kNow; at += absl::Minutes(1)) {
    readings.push_back({.at = at, .reading = reading});
  }
  return readings;
}

TEST(Frozen, GaugesThatStandStillWithEverythingElseAreFrozen) {
  EXPECT_TRUE(GaugesAreFrozen(For(absl::Minutes(5)), kNow - absl::Minutes(5), kFrozenWindow));
  EXPECT_TRUE(GaugesAreFrozen(For(absl::Minutes(9)), kLongAgo, kFrozenWindow));
}

TEST(Frozen, AllOfItNeedsEvidence) {
  ModelReading idle = Aborted();
  idle.waiting = idle.running = 0;
  ModelReading without_counters = Aborted();
  for (const ModelNumber counter : kModelCounters) without_counters.*counter = std::nullopt;
  const struct {
    const char* name;
    std::vector<TimedReading> readings;
    std::optional<absl::Time> idle_since;
  } rows[] = {
      {"no readings", {}, kLongAgo},
      {"readings do not reach back", For(absl::Minutes(4)), kLongAgo},
      {"GPUs busy, or unknown", For(absl::Minutes(9)), std::nullopt},
      {"GPUs idle for less", For(absl::Minutes(9)), kNow - absl::Minutes(4)},
      {"no requests: nothing to put right", For(absl::Minutes(9), idle), kLongAgo},
      {"no counters", For(absl::Minutes(9), without_counters), kLongAgo},
  };
  for (const auto& row : rows) {
    EXPECT_FALSE(GaugesAreFrozen(row.readings, row.idle_since, kFrozenWindow)) << row.name;
  }
}

TEST(Frozen, WhatMovedWithinTheWindowIsAlive) {
  for (const ModelNumber moved :
       {&ModelReading::generation_tokens, &ModelReading::prompt_tokens,
        &ModelReading::requests_done, &ModelReading::preemptions, &ModelReading::waiting,
        &ModelReading::running, &ModelReading::counters_began}) {
    std::vector<TimedReading> readings = For(absl::Minutes(9));
    readings[4].reading.*moved = 1;  // at the window's start
    EXPECT_FALSE(GaugesAreFrozen(readings, kLongAgo, kFrozenWindow));
    readings[4].reading = Aborted();
    readings[3].reading.*moved = 1;  // before it
    EXPECT_TRUE(GaugesAreFrozen(readings, kLongAgo, kFrozenWindow));
  }
}

TEST(Frozen, ACacheThatMovesAloneDoesNotTellOfRequests) {
  std::vector<TimedReading> readings = For(absl::Minutes(9));
  readings.back().reading.kv_cache_usage_ratio = 0.8;
  EXPECT_TRUE(GaugesAreFrozen(readings, kLongAgo, kFrozenWindow));
}

TEST(Frozen, AnEngineWithoutRequestsHasAnEmptyCache) {
  const ModelReading reading = WithoutRequests(Aborted());
  EXPECT_THAT(reading.waiting, Optional(0));
  EXPECT_THAT(reading.running, Optional(0));
  EXPECT_THAT(reading.kv_cache_usage_ratio, Optional(0));
  EXPECT_THAT(reading.generation_tokens, Optional(5000));
  EXPECT_EQ(WithoutRequests({.running = 1}).waiting, std::nullopt) << "unknown stays unknown";
}

}  // namespace
}  // namespace gpuscaler
