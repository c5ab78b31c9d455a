#include "engine/told_metrics.h"

#include <array>

#include "engine/engine_answers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "series/test_seconds.h"

namespace gpuscaler {
namespace {

using testing::Contains;
using testing::Not;

constexpr std::array kEngineMetrics = {
    EngineMetric::kRequestsWaiting,     EngineMetric::kRequestsRunning,
    EngineMetric::kRequestsInFlight,    EngineMetric::kKvCacheUsagePercent,
    EngineMetric::kPressurePercent,     EngineMetric::kQueueWaitMs,
    EngineMetric::kRequestRate,         EngineMetric::kTimeToFirstTokenMs,
    EngineMetric::kTimePerOutputTokenMs};

// All that the engine has rows for, each of it grown from one second to the next.
ModelReading AllItTells(const Engine& engine, int second) {
  ModelReading reading;
  if (engine.page == nullptr) return reading;
  for (const NumberRow& row : engine.page->numbers) reading.*row.into = second;
  for (const HistogramRow& row : engine.page->histograms) {
    reading.*row.into = Histogram{{{1, 1.0 * second}, {HUGE_VAL, 1.0 * second}}};
  }
  return reading;
}

TEST(ToldMetrics, AreThoseThatItsPageCanAnswer) {
  for (const Engine* const engine : Engines()) {
    KeptReadings readings;
    for (int second = 0; second <= 10; ++second) {
      readings.Take(Second(second), AllItTells(*engine, second));
    }
    for (const EngineMetric metric : kEngineMetrics) {
      const EngineQuestion question{.metric = metric, .window = absl::Seconds(5)};
      const NumberAtEach answers = Answers(question, readings.all(), {.longest_gap = kBridged});
      EXPECT_EQ(CanTell(*engine, metric), answers.back().has_value())
          << engine->name << " and " << WhatIsAsked(metric);
    }
  }
}

TEST(ToldMetrics, SomeEngineTellsEachOfThem) {
  for (const EngineMetric metric : kEngineMetrics) {
    EXPECT_THAT(EnginesThatTell(metric), Contains("vllm")) << WhatIsAsked(metric);
    EXPECT_THAT(EnginesThatTell(metric), Not(Contains("ollama"))) << "it has a list of models";
  }
}

TEST(ToldMetrics, WhatAnEngineNeverTells) {
  EXPECT_FALSE(CanTell(Tgi(), EngineMetric::kKvCacheUsagePercent));
  EXPECT_FALSE(CanTell(Tgi(), EngineMetric::kTimeToFirstTokenMs));
  EXPECT_FALSE(CanTell(Tei(), EngineMetric::kRequestsInFlight)) << "not how many run";
  EXPECT_TRUE(CanTell(Tei(), EngineMetric::kRequestsWaiting));
  EXPECT_FALSE(CanTell(LlamaCpp(), EngineMetric::kRequestRate));
  EXPECT_FALSE(CanTell(LlamaCpp(), EngineMetric::kQueueWaitMs));
}

}  // namespace
}  // namespace gpuscaler
