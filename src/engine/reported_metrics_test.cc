#include "engine/reported_metrics.h"

#include <array>
#include <limits>
#include <string>
#include <vector>

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

TEST(ReportedMetrics, AreThoseThatItsPageCanAnswer) {
  for (const Engine* const engine : Engines()) {
    StoredReadings readings;
    for (int second = 0; second <= 10; ++second) {
      readings.Take(Second(second), AllItTells(*engine, second));
    }
    for (const EngineMetric metric : kEngineMetrics) {
      const EngineQuestion question{.metric = metric, .window = absl::Seconds(5)};
      const NumberAtEach answers = Answers(question, readings.all(), {.longest_gap = kLongestGap});
      EXPECT_EQ(CanTell(*engine, metric), answers.back().has_value())
          << engine->name << " and " << WhatIsAsked(metric);
    }
  }
}

TEST(ReportedMetrics, SomeEngineTellsEachOfThem) {
  for (const EngineMetric metric : kEngineMetrics) {
    EXPECT_THAT(EnginesThatTell(metric), Contains("vllm")) << WhatIsAsked(metric);
    EXPECT_THAT(EnginesThatTell(metric), Not(Contains("ollama"))) << "it has a list of models";
  }
}

TEST(ReportedMetrics, DemandTakesFinishedRequestsThoseInFlightAndTokens) {
  EXPECT_EQ(EnginesThatTell(EngineMetric::kDemand),
            (std::vector<std::string>{"lmdeploy", "nim", "sglang", "tgi", "trtllm_serve", "vllm"}));
}

TEST(ReportedMetrics, WhatTritonExportsOnlyWithTensorRtLlm) {
  for (const EngineMetric metric :
       {EngineMetric::kRequestsRunning, EngineMetric::kRequestsInFlight,
        EngineMetric::kKvCacheUsagePercent, EngineMetric::kPressurePercent}) {
    EXPECT_EQ(BackendFor(Triton(), metric), "TensorRT-LLM") << WhatIsAsked(metric);
    EXPECT_THAT(EnginesThatTell(metric), Contains("triton with TensorRT-LLM"));
    EXPECT_EQ(BackendFor(Vllm(), metric), "") << WhatIsAsked(metric);
  }
  for (const EngineMetric metric :
       {EngineMetric::kRequestsWaiting, EngineMetric::kQueueWaitMs, EngineMetric::kRequestRate}) {
    EXPECT_EQ(BackendFor(Triton(), metric), "") << WhatIsAsked(metric);
    EXPECT_THAT(EnginesThatTell(metric), Contains("triton"));
  }
  EXPECT_EQ(BackendFor(Ollama(), EngineMetric::kPressurePercent), "") << "it never does";
}

TEST(ReportedMetrics, ABackendIsThereWhereItsNumbersAre) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const EngineReading page{.models = {{.model = "resnet", .waiting = 1, .requests_done = 8},
                                      {.model = "llama", .waiting = 1, .running = 2}}};
  EXPECT_TRUE(HasBackend(Triton(), page, ""));
  EXPECT_TRUE(HasBackend(Triton(), page, "llama"));
  EXPECT_FALSE(HasBackend(Triton(), page, "resnet"));
  EXPECT_FALSE(HasBackend(Triton(), {.models = {page.models[0]}}, ""));
  EXPECT_TRUE(HasBackend(Triton(), {.models = {{.running = kNan}}}, "")) << "it should be there";
  EXPECT_FALSE(HasBackend(Vllm(), page, "")) << "it needs none";
}

TEST(ReportedMetrics, WhatAnEngineNeverTells) {
  EXPECT_FALSE(CanTell(Tgi(), EngineMetric::kKvCacheUsagePercent));
  EXPECT_FALSE(CanTell(Tgi(), EngineMetric::kTimeToFirstTokenMs));
  EXPECT_FALSE(CanTell(Tei(), EngineMetric::kRequestsInFlight)) << "not how many run";
  EXPECT_TRUE(CanTell(Tei(), EngineMetric::kRequestsWaiting));
  EXPECT_FALSE(CanTell(LlamaCpp(), EngineMetric::kRequestRate));
  EXPECT_FALSE(CanTell(LlamaCpp(), EngineMetric::kQueueWaitMs));
}

}  // namespace
}  // namespace gpuscaler
