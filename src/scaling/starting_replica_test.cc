// Replicas that start: by the clock, or by the readiness of their pods.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_decided_fleet.h"
#include "scaling/test_decided_history.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;

TEST(StartingReplica, StartingReplicaAddsNothingAndKeepsTheTriggerActive) {
  Trigger trigger = Utilization();
  trigger.warmup = absl::Seconds(60);
  HistoryBuilder builder;
  builder.RepeatFor(kLong, {BusyGpu(0, 60), FreeGpu(1)});
  GpuSample started = BusyGpu(1, 100);
  started.held_since = builder.now() + kTick;
  builder.RepeatFor(absl::Seconds(60), {BusyGpu(0, 60), started});
  EXPECT_EQ(After(trigger, builder).value, 60);
  EXPECT_EQ(After(trigger, builder).replicas, 1);
  EXPECT_EQ(After(trigger, builder).starting, 1);
  GpuSample serving = started;
  serving.utilization_percent = 20;
  builder.Tick({BusyGpu(0, 60), serving});
  EXPECT_EQ(After(trigger, builder).value, 60) << "it was not counted before";
  builder.RepeatFor(trigger.window / 2, {BusyGpu(0, 60), serving});
  EXPECT_NEAR(After(trigger, builder).value, 70, 1) << "and its loading is not in the window";
  builder.RepeatFor(trigger.window, {BusyGpu(0, 60), serving});
  EXPECT_EQ(After(trigger, builder).value, 80);
}

TEST(StartingReplica, StartingReplicaThatCannotBeReadIsStillStarting) {
  Trigger trigger = Utilization();
  trigger.warmup = absl::Seconds(60);
  HistoryBuilder builder;
  builder.RepeatFor(kLong, {FreeGpu(0)});
  GpuSample starting = LostGpu(0);
  starting.held_since = builder.now() + kTick;
  builder.RepeatFor(absl::Seconds(20), {starting});
  EXPECT_TRUE(After(trigger, builder).status.ok()) << After(trigger, builder).status;
  EXPECT_TRUE(After(trigger, builder).active);
}

TEST(StartingReplica, ReplicaThatWentWhileStartingKeepsNothingActive) {
  Trigger trigger = Utilization();
  trigger.warmup = absl::Seconds(60);
  HistoryBuilder builder;
  builder.RepeatFor(kLong, {FreeGpu(0)});
  GpuSample starting = BusyGpu(0, 100);
  starting.held_since = builder.now() + kTick;
  builder.RepeatFor(absl::Seconds(20), {starting}).Tick({FreeGpu(0)});
  EXPECT_FALSE(After(trigger, builder).active);
}

TEST(StartingReplica, PodIsStartingUntilItWasReadyOnce) {
  const auto starting = [](double load, bool ready) {
    return std::vector<NodeSnapshot>{Node(
        "gpu-1",
        {Llm("llm-a", 60), {.name = "llm-b", .owner = "llm", .loads = {load}, .ready = ready}})};
  };
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("gpu-1", {Llm("llm-a", 60)})});
  fleet.RepeatFor(absl::Minutes(4), starting(100, false));
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).value, 60);
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).starting, 1);
  EXPECT_THAT(Explain(UtilizationOf("llm"), DecidedOn(UtilizationOf("llm"), fleet)),
              HasSubstr("not Ready yet"));
  fleet.Tick(starting(20, true));
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).value, 60) << "it was not counted before";
  fleet.RepeatFor(absl::Minutes(1), starting(20, true));
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).value, 80)
      << "and its loading is not in the window";
  fleet.RepeatFor(absl::Minutes(1), starting(90, false));
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).value, 150)
      << "one that is too busy for its probe is no start";
}

TEST(StartingReplica, StartingPodKeepsTheWorkloadActiveFor30MinutesAtMost) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("gpu-1", {})});
  const std::vector<NodeSnapshot> stuck = {
      Node("gpu-1", {{.name = "llm-a", .owner = "llm", .loads = {0}, .ready = false}})};
  std::vector<NodeSnapshot> since = stuck;
  since[0].gpus[0].held_since = fleet.now() + kTick;
  fleet.RepeatFor(absl::Minutes(29), since);
  EXPECT_TRUE(DecidedOn(UtilizationOf("llm"), fleet).active);
  fleet.RepeatFor(absl::Minutes(2), since);
  EXPECT_FALSE(DecidedOn(UtilizationOf("llm"), fleet).active);
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).replicas, 0);
}

TEST(StartingReplica, StartingPodOlderThanTheHistoryDoesNotStartForEver) {
  FleetBuilder fleet;
  const std::vector<NodeSnapshot> stuck = {
      Node("gpu-1", {{.name = "llm-a", .owner = "llm", .loads = {0}, .ready = false}})};
  fleet.RepeatFor(absl::Minutes(29), stuck);
  EXPECT_TRUE(DecidedOn(UtilizationOf("llm"), fleet).active);
  fleet.RepeatFor(absl::Minutes(2), stuck);
  EXPECT_FALSE(DecidedOn(UtilizationOf("llm"), fleet).active);
}

TEST(StartingReplica, UnknownReadinessUsesWarmupSeconds) {
  Trigger trigger = UtilizationOf("llm");
  trigger.warmup = absl::Minutes(1);
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("gpu-1", {})})
      .RepeatFor(absl::Minutes(1), {Node("gpu-1", {Llm("llm-a", 60)})});
  EXPECT_EQ(DecidedOn(trigger, fleet).starting, 1);
  EXPECT_EQ(DecidedOn(trigger, fleet).value, trigger.target) << "holds: no replica was counted";
  fleet.Tick({Node("gpu-1", {Llm("llm-a", 60)})});
  EXPECT_EQ(DecidedOn(trigger, fleet).replicas, 1);
  fleet.RepeatFor(trigger.window, {Node("gpu-1", {Llm("llm-a", 60)})});
  EXPECT_EQ(DecidedOn(trigger, fleet).value, 60);
}

}  // namespace
}  // namespace gpuscaler
