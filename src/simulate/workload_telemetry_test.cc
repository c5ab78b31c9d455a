#include "simulate/test_workload_telemetry.h"

#include "engine/engines.h"
#include "gtest/gtest.h"
#include "simulate/vllm_exposition.h"
#include "trigger/test_parsed_trigger.h"

namespace gpuscaler {
namespace {

const absl::Time kTelemetryStart = absl::FromUnixSeconds(1'767'225'600);

class WorkloadTelemetryTest : public testing::Test {
 protected:
  void RunFor(WorkloadTelemetry& telemetry, absl::Duration duration) {
    for (const absl::Time end = workload_.now() + duration; workload_.now() < end;) {
      workload_.Advance(workload_.now() + absl::Seconds(1));
      telemetry.Observe(workload_);
    }
  }

  SimulatedWorkload workload_{{.engine = {.max_num_seqs = 8, .step = {.base = 0.1}}},
                              kTelemetryStart};
};

TEST_F(WorkloadTelemetryTest, ReadingEqualsTheParsedExposition) {
  BatchEngine engine({.max_num_seqs = 2, .step = {.base = 0.1}});
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(engine.Submit({.prompt_tokens = 100, .max_tokens = 10}, kTelemetryStart).ok());
  }
  engine.Advance(kTelemetryStart + absl::Seconds(1.5));
  const std::string text = VllmExposition("simulated", engine.Gauges(), engine.totals());
  const auto parsed = Vllm().read(text, {.histograms = true});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(VllmReading(engine, /*histograms=*/true), *parsed);
}

TEST_F(WorkloadTelemetryTest, RequestsInFlightOfAllReplicasAreTheValue) {
  WorkloadTelemetry telemetry(Parsed({{"profile", "vllm-requests"}}), {});
  for (int i = 0; i < 2; ++i) workload_.StartReadyAt(kTelemetryStart);
  for (int i = 0; i < 10; ++i) workload_.Submit({.prompt_tokens = 10, .max_tokens = 10'000});
  RunFor(telemetry, absl::Minutes(1));
  const Decision decision = telemetry.Decided();
  EXPECT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 10);
  EXPECT_EQ(decision.replicas, 2);
}

// Every 100 ms a replica gets a request of 100 tokens, which takes 10 s.
TEST_F(WorkloadTelemetryTest, DemandIsArrivalsDividedByCapacity) {
  WorkloadTelemetry telemetry(Parsed({{"metricType", "demand_replicas"}, {"maxConcurrency", "64"}}),
                              {});
  SimulatedWorkload workload({.engine = {.max_num_seqs = 64, .step = {.base = 0.1}}},
                             kTelemetryStart);
  for (int i = 0; i < 2; ++i) workload.StartReadyAt(kTelemetryStart);
  for (int step = 1; step <= 6000; ++step) {
    workload.Submit({.prompt_tokens = 10, .max_tokens = 100});
    workload.Advance(kTelemetryStart + step * absl::Milliseconds(100));
    if (step % 10 == 0) telemetry.Observe(workload);
  }
  const Decision decision = telemetry.Decided();
  ASSERT_TRUE(decision.status.ok()) << decision.status;
  ASSERT_TRUE(decision.demand.has_value());
  EXPECT_NEAR(decision.demand->arrivals_per_second, 10, 0.5);
  EXPECT_NEAR(decision.demand->tokens_per_answer, 100, 1);
  const double served = 0.91 * 0.95 * 64 / (0.1 * 100);
  EXPECT_NEAR(decision.value, 10 / served, 0.1 * 10 / served);
}

TEST_F(WorkloadTelemetryTest, APodIsStartingUntilItIsReady) {
  for (const bool pods_api : {true, false}) {
    SimulatedWorkload workload({}, kTelemetryStart);
    workload.StartReadyAt(kTelemetryStart);
    workload.StartReadyAt(kTelemetryStart + absl::Seconds(100));
    WorkloadTelemetry telemetry(Parsed({{"profile", "vllm-inference"}}), {.pods_api = pods_api});
    for (int second = 1; second <= 90; ++second) {
      workload.Advance(kTelemetryStart + absl::Seconds(second));
      telemetry.Observe(workload);
    }
    EXPECT_EQ(telemetry.Decided().replicas, 1) << pods_api;
    EXPECT_EQ(telemetry.Decided().starting, 1) << pods_api;
  }
}

}  // namespace
}  // namespace gpuscaler
