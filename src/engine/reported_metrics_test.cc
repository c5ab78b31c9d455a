#include "engine/reported_metrics.h"

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "engine/engine_answers.h"
#include "engine/test_seconds.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

// Two readings of all fields that the engine has rows for; every counter grows between them.
ModelReading AllReportedFields(const Engine& engine, int second) {
  ModelReading reading;
  if (engine.exposition == nullptr) return reading;
  for (const NumberMapping& row : engine.exposition->numbers) reading.*row.into = second;
  for (const HistogramMapping& row : engine.exposition->histograms) {
    reading.*row.into = Histogram{{{1, 1.0 * second}, {HUGE_VAL, 1.0 * second}}};
  }
  return reading;
}

TEST(ReportedMetrics, MatchWhatTheExpositionCanAnswer) {
  for (const Engine* const engine : Engines()) {
    StoredReadings readings;
    for (int second = 0; second <= 10; ++second) {
      readings.AddReading(Second(second), AllReportedFields(*engine, second));
    }
    for (const EngineMetric metric : kEngineMetrics) {
      const EngineQuery query{.metric = metric, .window = absl::Seconds(5)};
      const ValuesAtReadings answers = Answers(query, readings.all(), kLongestGap);
      EXPECT_EQ(CanReport(*engine, metric), answers.back().has_value())
          << engine->name << " and " << InputsOf(metric);
    }
  }
}

TEST(ReportedMetrics, EachMetricIsReportedBySomeEngine) {
  for (const EngineMetric metric : kEngineMetrics) {
    EXPECT_THAT(EnginesThatReport(metric), Contains("vllm")) << InputsOf(metric);
    EXPECT_THAT(EnginesThatReport(metric), Not(Contains("ollama"))) << "it has a list of models";
  }
}

TEST(ReportedMetrics, DemandNeedsFinishedAndInFlightRequestsAndTokens) {
  EXPECT_EQ(EnginesThatReport(EngineMetric::kDemand),
            (std::vector<std::string>{"lmdeploy", "nim", "sglang", "tgi", "trtllm_serve", "vllm"}));
}

TEST(ReportedMetrics, TritonExportsSomeMetricsOnlyWithTensorRtLlm) {
  for (const EngineMetric metric :
       {EngineMetric::kRequestsRunning, EngineMetric::kRequestsInFlight,
        EngineMetric::kKvCacheUsagePercent, EngineMetric::kPressurePercent}) {
    EXPECT_EQ(BackendFor(Triton(), metric), "TensorRT-LLM") << InputsOf(metric);
    EXPECT_THAT(EnginesThatReport(metric), Contains("triton with TensorRT-LLM"));
    EXPECT_EQ(BackendFor(Vllm(), metric), "") << InputsOf(metric);
  }
  for (const EngineMetric metric :
       {EngineMetric::kRequestsWaiting, EngineMetric::kQueueWaitMs, EngineMetric::kRequestRate}) {
    EXPECT_EQ(BackendFor(Triton(), metric), "") << InputsOf(metric);
    EXPECT_THAT(EnginesThatReport(metric), Contains("triton"));
  }
  EXPECT_EQ(BackendFor(Ollama(), EngineMetric::kPressurePercent), "") << "it never does";
}

TEST(ReportedMetrics, BackendIsDetectedByItsNumbers) {
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

TEST(ReportedMetrics, SomeEnginesNeverReportAMetric) {
  EXPECT_FALSE(CanReport(Tgi(), EngineMetric::kKvCacheUsagePercent));
  EXPECT_FALSE(CanReport(Tgi(), EngineMetric::kTimeToFirstTokenMs));
  EXPECT_FALSE(CanReport(Tei(), EngineMetric::kRequestsInFlight)) << "it lacks running requests";
  EXPECT_TRUE(CanReport(Tei(), EngineMetric::kRequestsWaiting));
  EXPECT_FALSE(CanReport(LlamaCpp(), EngineMetric::kRequestRate));
  EXPECT_FALSE(CanReport(LlamaCpp(), EngineMetric::kQueueWaitMs));
}

}  // namespace
}  // namespace gpuscaler
