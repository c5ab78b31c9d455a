// The value on one node: the sum of its replicas and GPUs.
#include "scaling/decision.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_decided_history.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;

TEST(Decide, ValueIsTheSumOverReplicas) {
  const Decision decision = Steady(Utilization(), {BusyGpu(0, 90), BusyGpu(1, 50), FreeGpu(2)});
  EXPECT_EQ(decision.value, 140) << Explain(Utilization(), decision);
  EXPECT_EQ(decision.replicas, 2);
  EXPECT_TRUE(decision.active);
}

TEST(Decide, ValueTargetTypeGetsTheAverage) {
  Trigger trigger = Utilization();
  trigger.target_type = TargetType::kValue;
  EXPECT_EQ(Steady(trigger, {BusyGpu(0, 90), BusyGpu(1, 50)}).value, 70);
}

TEST(Decide, ReplicaAggregationReplacesTheAverage) {
  struct Case {
    const char* name;
    ReplicaAggregation aggregation;
    double average_value;
    double value;
  };
  for (const Case& test : {Case{"avg", ReplicaAggregation::kAvg, 160, 80 * 2 / 3.0},
                           Case{"max", ReplicaAggregation::kMax, 270, 90},
                           Case{"min", ReplicaAggregation::kMin, 60, 20},
                           Case{"p95", ReplicaAggregation::kP95, 270, 90}}) {
    const std::vector<GpuSample> gpus = {BusyGpu(0, 90), BusyGpu(1, 50), BusyGpu(2, 20)};
    Trigger trigger = Utilization();
    trigger.replica_aggregation = test.aggregation;
    EXPECT_EQ(Steady(trigger, gpus).value, test.average_value) << test.name;
    trigger.target_type = TargetType::kValue;
    EXPECT_NEAR(Steady(trigger, gpus).value, test.value, 0.001) << test.name;
  }
}

TEST(Decide, NoGpuAtAllIsIdleAndNotAnError) {
  const Decision decision = Steady(Utilization(), {});
  EXPECT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 0);
  EXPECT_FALSE(decision.active);
}

TEST(Decide, WindowSmoothsAndZeroIsTheNewestSample) {
  HistoryBuilder builder;
  builder.RepeatFor(kLong, {BusyGpu(0, 0)}).RepeatFor(absl::Seconds(10), {BusyGpu(0, 90)});
  Trigger trigger = Utilization();
  trigger.window = absl::Seconds(30);
  EXPECT_EQ(After(trigger, builder).value, 30);
  trigger.window_aggregation = WindowAggregation::kMax;
  EXPECT_EQ(After(trigger, builder).value, 90);
  trigger.window = absl::ZeroDuration();
  EXPECT_EQ(After(trigger, builder).value, 90);
}

TEST(Decide, BlocksOfGpusAreOneReplica) {
  Trigger trigger = Utilization();
  trigger.gpus_per_replica = 2;
  const std::vector<GpuSample> gpus = {BusyGpu(0, 90), FreeGpu(1), FreeGpu(2), FreeGpu(3)};
  EXPECT_EQ(Steady(trigger, gpus).replicas, 1);
  EXPECT_EQ(Steady(trigger, gpus).value, 90);
  trigger.aggregation = Aggregation::kAvg;
  EXPECT_EQ(Steady(trigger, gpus).value, 45);
  EXPECT_EQ(Steady(trigger, gpus).contributions[0].name, "n/0-1");
}

TEST(Decide, GpuIndexSelectsOneGpuOrFails) {
  Trigger trigger = Utilization();
  trigger.gpu_index = 1;
  EXPECT_EQ(Steady(trigger, {BusyGpu(0, 90), BusyGpu(1, 50)}).value, 50);
  trigger.gpu_index = 7;
  const Decision decision = Steady(trigger, {BusyGpu(0, 90), BusyGpu(1, 50)});
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(decision.status.message()), HasSubstr("there are 0, 1"));
}

TEST(Decide, MetricThatNoDeviceHasIsAFailedPreconditionNamingThem) {
  Trigger trigger = Utilization();
  trigger.metric = MetricType::kNvlinkTx;
  const Decision decision = Steady(trigger, {BusyGpu(0, 90)});
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(decision.status.message()), HasSubstr("nvlink_tx_mbps"));
  EXPECT_THAT(std::string(decision.status.message()), HasSubstr("n/0 (NVIDIA Test)"));
}

TEST(Decide, ActivityAddsUpOverReplicasAndNamesGpusThatCannotReportIt) {
  Trigger trigger = Utilization();
  trigger.metric = MetricType::kDramActivity;
  GpuSample a = BusyGpu(0, 100);
  a.dram_activity_percent = 60;
  GpuSample b = BusyGpu(1, 100);
  b.dram_activity_percent = 25;
  EXPECT_EQ(Steady(trigger, {a, b}).value, 85);
  const Decision decision = Steady(trigger, {BusyGpu(0, 100)});
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(decision.status.message()),
              HasSubstr("no GPU in scope has dram_activity: n/0 (NVIDIA Test)"));
}

TEST(Decide, ExtensiveMetricAddsUpEveryGpuInScope) {
  Trigger trigger;
  trigger.metric = MetricType::kPowerDraw;
  trigger.aggregation = Aggregation::kSum;
  trigger.target = 300;
  const std::vector<GpuSample> gpus = {BusyGpu(0, 90), BusyGpu(1, 50), FreeGpu(2)};
  EXPECT_EQ(Steady(trigger, gpus).value, 300);
  trigger.target_type = TargetType::kValue;
  EXPECT_EQ(Steady(trigger, gpus).value, 100);
}

TEST(Decide, HoldCountsABusyReplicaAtTheTargetAtLeast) {
  Trigger trigger = Utilization(90);
  trigger.scale_in = ScaleIn::kHold;
  trigger.activation_window = absl::Minutes(2);
  EXPECT_EQ(Steady(trigger, {BusyGpu(0, 30), BusyGpu(1, 95), BusyGpu(2, 0)}).value, 90 + 95);
}

TEST(Decide, HoldCountsTheTargetWhileItIsNotKnownWhetherAReplicaWorked) {
  Trigger trigger = Utilization(90);
  trigger.scale_in = ScaleIn::kHold;
  trigger.activation_window = absl::Minutes(2);
  HistoryBuilder builder;
  builder.RepeatFor(absl::Minutes(1), {BusyGpu(0, 0)});
  EXPECT_EQ(After(trigger, builder).value, 90) << "a job in a checkpoint while we restarted";
  builder.RepeatFor(absl::Minutes(2), {BusyGpu(0, 0)});
  EXPECT_EQ(After(trigger, builder).value, 0);
}

}  // namespace
}  // namespace gpuscaler
