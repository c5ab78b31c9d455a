#include "scaling/decision.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/history_builder.h"
#include "scaling/test_triggers.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using State = ReplicaShare::State;

Trigger MemoryProfile(StandingMemory standing, double target) {
  Trigger trigger;
  trigger.metric = MetricType::kMemoryUsedPercent;
  trigger.target = target;
  trigger.activation_threshold = 5;
  trigger.standing_memory = standing;
  trigger.activation_window = absl::Seconds(120);
  return trigger;
}

Decision After(const Trigger& trigger, const HistoryBuilder& builder) {
  return Decide(trigger, {}, builder.fleet(), kPatience);
}

Decision Steady(const Trigger& trigger, const std::vector<GpuSample>& gpus) {
  return After(trigger, HistoryBuilder().Hold(kLong, gpus));
}

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

TEST(Decide, ReplicaAggregationIsAnotherView) {
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
  builder.Hold(kLong, {BusyGpu(0, 0)}).Hold(absl::Seconds(10), {BusyGpu(0, 90)});
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
  EXPECT_EQ(Steady(trigger, gpus).shares[0].name, "n/0-1");
}

TEST(Decide, GpuIndexPicksOneGpuAndSaysWhenThereIsNone) {
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

// DESIGN 2, oracle 3: V for m unreadable of 8 replicas, the others at a load; T=80.
TEST(Decide, UnreadableReplicasStandForTheTarget) {
  struct Case {
    int unreadable;
    double load;
    double value;
  };
  for (const Case& test : {Case{1, 100, 780}, Case{4, 100, 720}, Case{1, 40, 360}, Case{4, 40, 480},
                           Case{2, 85, 670}}) {
    std::vector<GpuSample> before, now;
    for (int i = 0; i < 8; ++i) {
      before.push_back(BusyGpu(i, test.load));
      now.push_back(i < test.unreadable ? LostGpu(i) : BusyGpu(i, test.load));
    }
    const Decision decision =
        After(Utilization(), HistoryBuilder().Hold(kLong, before).Hold(absl::Seconds(30), now));
    EXPECT_EQ(decision.value, test.value) << test.unreadable << " at " << test.load;
    EXPECT_EQ(decision.unreadable, test.unreadable);
    EXPECT_EQ(decision.replicas, 8);
    EXPECT_TRUE(decision.active);
  }
}

TEST(Decide, OtherReplicaAggregationLeavesTheUnreadableAtTheTarget) {
  Trigger trigger = Utilization();
  trigger.replica_aggregation = ReplicaAggregation::kMax;
  HistoryBuilder builder;
  builder.Hold(kLong, {LostGpu(0), BusyGpu(1, 60), BusyGpu(2, 40)});
  EXPECT_EQ(After(trigger, builder).value, 2 * 60 + 80);
  trigger.target_type = TargetType::kValue;
  EXPECT_NEAR(After(trigger, builder).value, 200.0 / 3, 0.001);
}

TEST(Decide, GapShorterThanStaleAfterIsBridged) {
  HistoryBuilder builder;
  builder.Hold(kLong, {BusyGpu(0, 60)}).Hold(absl::Seconds(6), {LostGpu(0)});
  EXPECT_EQ(After(Utilization(), builder).value, 60);
  EXPECT_EQ(After(Utilization(), builder).unreadable, 0);
}

TEST(Decide, NothingReadableIsUnavailableAndNamesTheError) {
  HistoryBuilder builder;
  builder.Hold(kLong, {BusyGpu(0, 60)}).Hold(absl::Seconds(8), {LostGpu(0)});
  const Decision decision = After(Utilization(), builder);
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(decision.status.message()), HasSubstr("GPU_IS_LOST"));
}

TEST(Decide, GpusThatWereNeverReadAreUnavailableAndNotIdle) {
  GpuSample gpu = LostGpu(0);
  gpu.in_use = false;
  EXPECT_EQ(Steady(Utilization(), {gpu}).status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Steady(Utilization(), {gpu, FreeGpu(1)}).value, 0);
}

TEST(Decide, CostlyMetricThatNobodyHadAskedForIsUnavailableAndSaysSo) {
  Trigger trigger;
  trigger.metric = MetricType::kPcieTx;
  GpuSample gpu = BusyGpu(0, 50);
  gpu.gaps.push_back({GpuField::kPcie, GpuGap::Reason::kNotWanted, ""});
  const Decision decision = Steady(trigger, {gpu});
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(decision.status.message()), HasSubstr("nobody had asked"));
}

TEST(Decide, DeviceWithoutTheMetricIsUnreadableWhileOthersHaveIt) {
  GpuSample without = BusyGpu(1, 0);
  without.utilization_percent.reset();
  const Decision decision = Steady(Utilization(), {BusyGpu(0, 60), without});
  EXPECT_EQ(decision.value, 60 + 80);
  EXPECT_EQ(decision.unreadable, 1);
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

TEST(Decide, IdleGpusOfAnExtensiveMetricDoNotWakeTheWorkload) {
  Trigger trigger;
  trigger.metric = MetricType::kPowerDraw;
  EXPECT_FALSE(Steady(trigger, {FreeGpu(0), FreeGpu(1)}).active);
}

TEST(Decide, ActiveIsStrictlyAboveTheThresholdWithinTheWindow) {
  Trigger trigger = Utilization();
  trigger.activation_threshold = 10;
  EXPECT_FALSE(Steady(trigger, {BusyGpu(0, 10)}).active);
  HistoryBuilder builder;
  builder.Hold(kLong, {BusyGpu(0, 0)}).Tick({BusyGpu(0, 11)});
  EXPECT_TRUE(After(trigger, builder).active);
  builder.Hold(trigger.activation_window, {BusyGpu(0, 0)});
  EXPECT_TRUE(After(trigger, builder).active);
  builder.Tick({BusyGpu(0, 0)});
  EXPECT_FALSE(After(trigger, builder).active);
}

TEST(Decide, InactiveNeedsSamplesThatCoverTheWindow) {
  const Trigger trigger = Utilization();
  HistoryBuilder builder;
  builder.Hold(trigger.activation_window, {BusyGpu(0, 0)});
  EXPECT_TRUE(After(trigger, builder).active) << "one tick short of the window since the start";
  builder.Tick({BusyGpu(0, 0)});
  EXPECT_FALSE(After(trigger, builder).active);
  builder.Silence(absl::Seconds(10)).Tick({BusyGpu(0, 0)});
  EXPECT_TRUE(After(trigger, builder).active) << "after a gap longer than stale_after";
  builder.Hold(trigger.activation_window, {BusyGpu(0, 0)});
  EXPECT_FALSE(After(trigger, builder).active);
}

TEST(Decide, ReplicaWithUnreadTimeInTheWindowIsNoEvidenceOfIdleness) {
  const Trigger trigger = Utilization();
  HistoryBuilder builder;
  builder.Hold(kLong, {BusyGpu(0, 0)}).Hold(absl::Seconds(10), {LostGpu(0)});
  builder.Tick({BusyGpu(0, 0)});
  EXPECT_TRUE(After(trigger, builder).active);
  builder.Hold(trigger.activation_window, {BusyGpu(0, 0)});
  EXPECT_FALSE(After(trigger, builder).active);
}

TEST(Decide, ReplicaThatHasGoneCountsForActivityWithinTheWindow) {
  const Trigger trigger = Utilization();
  HistoryBuilder builder;
  builder.Hold(kLong, {BusyGpu(0, 90), BusyGpu(1, 0)}).Tick({FreeGpu(0), BusyGpu(1, 0)});
  EXPECT_TRUE(After(trigger, builder).active) << "its GPU is free";
  EXPECT_EQ(After(trigger, builder).value, 0);
  HistoryBuilder lost;
  lost.Hold(kLong, {BusyGpu(0, 90), BusyGpu(1, 0)}).Tick({BusyGpu(1, 0)});
  EXPECT_TRUE(After(trigger, lost).active) << "its GPU is gone";
  lost.Hold(trigger.activation_window, {BusyGpu(1, 0)});
  EXPECT_FALSE(After(trigger, lost).active);
}

TEST(Decide, WarmingReplicaAddsNothingAndKeepsTheTriggerActive) {
  Trigger trigger = Utilization();
  trigger.warmup = absl::Seconds(60);
  HistoryBuilder builder;
  builder.Hold(kLong, {BusyGpu(0, 60), FreeGpu(1)});
  GpuSample started = BusyGpu(1, 100);
  started.held_since = builder.now() + kTick;
  builder.Hold(absl::Seconds(60), {BusyGpu(0, 60), started});
  EXPECT_EQ(After(trigger, builder).value, 60);
  EXPECT_EQ(After(trigger, builder).replicas, 1);
  EXPECT_EQ(After(trigger, builder).warming, 1);
  GpuSample serving = started;
  serving.utilization_percent = 20;
  builder.Tick({BusyGpu(0, 60), serving});
  EXPECT_EQ(After(trigger, builder).value, 80) << "and its loading is not in the window";
}

TEST(Decide, WarmingReplicaThatCannotBeReadIsStillWarming) {
  Trigger trigger = Utilization();
  trigger.warmup = absl::Seconds(60);
  HistoryBuilder builder;
  builder.Hold(kLong, {FreeGpu(0)});
  GpuSample starting = LostGpu(0);
  starting.held_since = builder.now() + kTick;
  builder.Hold(absl::Seconds(20), {starting});
  EXPECT_TRUE(After(trigger, builder).status.ok()) << After(trigger, builder).status;
  EXPECT_TRUE(After(trigger, builder).active);
}

TEST(Decide, ReplicaThatWentWhileWarmingKeepsNothingActive) {
  Trigger trigger = Utilization();
  trigger.warmup = absl::Seconds(60);
  HistoryBuilder builder;
  builder.Hold(kLong, {FreeGpu(0)});
  GpuSample starting = BusyGpu(0, 100);
  starting.held_since = builder.now() + kTick;
  builder.Hold(absl::Seconds(20), {starting}).Tick({FreeGpu(0)});
  EXPECT_FALSE(After(trigger, builder).active);
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
  builder.Hold(absl::Minutes(1), {BusyGpu(0, 0)});
  EXPECT_EQ(After(trigger, builder).value, 90) << "a job in a checkpoint while we restarted";
  builder.Hold(absl::Minutes(2), {BusyGpu(0, 0)});
  EXPECT_EQ(After(trigger, builder).value, 0);
}

TEST(Decide, AlwaysActiveTriggerIsNeverAtZero) {
  Trigger trigger = Utilization();
  trigger.always_active = true;
  EXPECT_TRUE(Steady(trigger, {FreeGpu(0)}).active);
}

// DESIGN 2, oracle 4, and its siblings.
TEST(Decide, StandingMemoryCountsByWhatTheProfileSays) {
  const std::vector<GpuSample> busy = {BusyGpu(0, 30, 80), BusyGpu(1, 30, 80)};
  const std::vector<GpuSample> idle = {BusyGpu(0, 0, 80), BusyGpu(1, 0, 80)};
  const Trigger batch = MemoryProfile(StandingMemory::kActivity, 70);
  EXPECT_EQ(Steady(batch, busy).value, 140);
  EXPECT_EQ(Steady(batch, idle).value, 0);
  EXPECT_FALSE(Steady(batch, idle).active);
  const Trigger literal = MemoryProfile(StandingMemory::kLiteral, 70);
  EXPECT_EQ(Steady(literal, idle).value, 160);
  EXPECT_TRUE(Steady(literal, idle).literal_memory);
  EXPECT_FALSE(Steady(batch, idle).literal_memory);
  EXPECT_THAT(Explain(literal, Steady(literal, idle)), HasSubstr("taken literally"));
}

TEST(Decide, EngineProfileWithoutAnEngineFallsBack) {
  const std::vector<GpuSample> busy = {BusyGpu(0, 30, 91), BusyGpu(1, 40, 91)};
  const std::vector<GpuSample> idle = {BusyGpu(0, 0, 91), BusyGpu(1, 0, 91)};
  Trigger trigger = MemoryProfile(StandingMemory::kPressure, 80);
  EXPECT_EQ(Steady(trigger, busy).value, 70);
  EXPECT_EQ(Steady(trigger, idle).value, 0);
  EXPECT_FALSE(Steady(trigger, idle).active);
  EXPECT_TRUE(Steady(trigger, busy).saturation_unknown);
  EXPECT_THAT(Explain(trigger, Steady(trigger, busy)),
              HasSubstr("saturation unknown: 2 replicas with preallocated VRAM"));
  EXPECT_THAT(Explain(trigger, Steady(trigger, {busy[0]})), HasSubstr("unknown: 1 replica with"));
  trigger.engine_fallback = EngineFallback::kActivity;
  EXPECT_EQ(Steady(trigger, busy).value, 80);
  EXPECT_EQ(Steady(trigger, idle).value, 0);
  trigger.engine_fallback = EngineFallback::kNone;
  EXPECT_EQ(Steady(trigger, busy).status.code(), absl::StatusCode::kUnavailable);
}

TEST(Decide, MemoryNotYetWatchedCountsAtMostTheTarget) {
  const Trigger trigger = MemoryProfile(StandingMemory::kPressure, 80);
  HistoryBuilder builder;
  builder.Hold(absl::Seconds(60), {BusyGpu(0, 0, 91)});
  EXPECT_EQ(After(trigger, builder).value, 80);
  builder.Hold(absl::Seconds(62), {BusyGpu(0, 0, 91)});
  EXPECT_EQ(After(trigger, builder).value, 0) << "after preallocationWindow it stands";
}

TEST(Decide, MemoryThatHasJustRisenCountsAtMostTheTarget) {
  const Trigger trigger = MemoryProfile(StandingMemory::kPressure, 80);
  HistoryBuilder builder;
  builder.Hold(kLong, {BusyGpu(0, 0, 20)}).Hold(absl::Seconds(60), {BusyGpu(0, 0, 91)});
  EXPECT_EQ(After(trigger, builder).value, 80);
}

TEST(Decide, MemoryThatStoodStandsUntilItFallsOrTheHolderChanges) {
  const Trigger trigger = MemoryProfile(StandingMemory::kPressure, 80);
  HistoryBuilder builder;
  builder.Hold(absl::Seconds(130), {BusyGpu(0, 0, 91)}).Hold(kTick, {BusyGpu(0, 0, 85)});
  EXPECT_TRUE(After(trigger, builder).shares[0].standing) << "it only moved";
  HistoryBuilder fell = builder;
  fell.Hold(kTick, {BusyGpu(0, 0, 40)});
  EXPECT_FALSE(After(trigger, fell).shares[0].standing);
  GpuSample other = BusyGpu(0, 0, 91);
  other.held_since = builder.now() + kTick;
  builder.Tick({other});
  EXPECT_FALSE(After(trigger, builder).shares[0].standing);
}

TEST(Decide, MemoryThatStoodAnHourAgoStillStands) {
  const Trigger batch = MemoryProfile(StandingMemory::kActivity, 70);
  HistoryBuilder builder;
  builder.Hold(absl::Seconds(130), {BusyGpu(0, 40, 80)});
  for (int i = 0; i < 30; ++i) {
    builder.Hold(absl::Minutes(1), {BusyGpu(0, 40, 84)})
        .Hold(absl::Minutes(1), {BusyGpu(0, 40, 81)});
  }
  EXPECT_EQ(After(batch, builder).value, 70);
}

TEST(Decide, StandingReplicaThatMayHaveWorkedCountsTheTarget) {
  const Trigger batch = MemoryProfile(StandingMemory::kActivity, 70);
  HistoryBuilder builder;
  builder.Hold(kLong, {BusyGpu(0, 0, 80)});
  EXPECT_EQ(After(batch, builder).value, 0);
  builder.Silence(absl::Minutes(1)).Tick({BusyGpu(0, 0, 80)});
  EXPECT_EQ(After(batch, builder).value, 70) << "it may have worked in the silence";
  builder.Hold(batch.activation_window, {BusyGpu(0, 0, 80)});
  EXPECT_EQ(After(batch, builder).value, 0);
}

TEST(Decide, LostUtilisationIsNotIdleness) {
  Trigger batch = MemoryProfile(StandingMemory::kActivity, 70);
  batch.activation_window = absl::ZeroDuration();
  GpuSample without = BusyGpu(0, 0, 80);
  without.utilization_percent.reset();
  without.gaps.push_back({GpuField::kUtilization, GpuGap::Reason::kFailed, "NVML error 999"});
  HistoryBuilder builder;
  builder.Hold(kLong, {BusyGpu(0, 100, 80)}).Tick({without});
  EXPECT_EQ(After(batch, builder).value, 70);
  EXPECT_TRUE(After(batch, builder).active);
  builder.Hold(kPatience.stale_after, {without});
  EXPECT_EQ(After(batch, builder).status.code(), absl::StatusCode::kUnavailable);
}

TEST(Decide, MemoryThatMovesIsLiteral) {
  Trigger trigger = MemoryProfile(StandingMemory::kPressure, 80);
  trigger.window = 2 * kTick;
  HistoryBuilder builder;
  for (int i = 0; i < 200; ++i) builder.Tick({BusyGpu(0, 10, i % 2 == 0 ? 88 : 92)});
  EXPECT_EQ(After(trigger, builder).value, 90);
  EXPECT_FALSE(After(trigger, builder).shares[0].standing);
}

TEST(Decide, MigInstancesCountAndTheirParentOnlyForWhatTheyLack) {
  GpuSample parent = BusyGpu(0, 0);
  parent.utilization_percent.reset();
  GpuSample instance = BusyGpu(0, 70);
  instance.uuid = "MIG-1";
  instance.parent_uuid = parent.uuid;
  instance.power_watts.reset();
  const Decision by_instance = Steady(Utilization(), {parent, instance});
  EXPECT_EQ(by_instance.value, 70);
  EXPECT_EQ(by_instance.shares[0].name, "n/0/MIG-1");
  Trigger power;
  power.metric = MetricType::kPowerDraw;
  power.aggregation = Aggregation::kSum;
  EXPECT_EQ(Steady(power, {parent, instance}).value, 100);
}

TEST(Decide, SplitGpuNeverCountsBesideItsInstances) {
  GpuSample parent = BusyGpu(0, 0);
  parent.utilization_percent.reset();
  GpuSample instance = parent;
  instance.uuid = "MIG-1";
  instance.parent_uuid = parent.uuid;
  const Decision decision = Steady(Utilization(), {parent, instance, BusyGpu(1, 60)});
  EXPECT_EQ(decision.unreadable, 1) << "the instance, which has no utilisation; not the parent";
  EXPECT_EQ(decision.value, 60 + 80);
}

TEST(Decide, ReplicaOfTwoGpusBridgesTheGapsOfEach) {
  Trigger trigger = Utilization();
  trigger.gpus_per_replica = 2;
  HistoryBuilder builder;
  builder.Hold(kLong, {BusyGpu(0, 40), BusyGpu(1, 60)});
  for (int i = 0; i < 10; ++i) {
    builder.Tick({LostGpu(0), BusyGpu(1, 60)}).Tick({BusyGpu(0, 40), LostGpu(1)});
  }
  EXPECT_EQ(After(trigger, builder).value, 60);
  EXPECT_EQ(After(trigger, builder).unreadable, 0);
  builder.Hold(absl::Seconds(8), {LostGpu(0), BusyGpu(1, 60)});
  EXPECT_EQ(After(trigger, builder).status.code(), absl::StatusCode::kUnavailable);
}

TEST(Decide, IdleGpuThatCannotBeReadMakesAnExtensiveTotalPartial) {
  Trigger trigger;
  trigger.metric = MetricType::kPowerDraw;
  trigger.aggregation = Aggregation::kSum;
  GpuSample lost = LostGpu(1);
  lost.in_use = false;
  const Decision decision = Steady(trigger, {BusyGpu(0, 90), lost});
  EXPECT_EQ(decision.value, 100);
  EXPECT_THAT(decision.shares[1].because, HasSubstr("cannot be read"));
  EXPECT_TRUE(decision.partial);
  EXPECT_EQ(decision.unread_idle, 1);
  EXPECT_THAT(decision.notes,
              ElementsAre("partial: n/1 NVML error 15 (GPU_IS_LOST): not in use, adds nothing"));
  EXPECT_FALSE(Steady(Utilization(), {BusyGpu(0, 90), lost}).partial) << "no part of a sum";
}

TEST(Explain, SaysValueActivityEveryReplicaAndWhy) {
  HistoryBuilder builder;
  builder.Hold(kLong, {LostGpu(0), BusyGpu(1, 60), FreeGpu(2)});
  const std::string text = Explain(Utilization(), After(Utilization(), builder));
  EXPECT_THAT(text, HasSubstr("value: 140 % of gpu_utilization, target 80 (AverageValue)"));
  EXPECT_THAT(text, HasSubstr("active: yes, n/1 was at 60 within 1m"));
  EXPECT_THAT(text, HasSubstr("replicas: 2 (GPUs in use; 1 unreadable)"));
  EXPECT_THAT(text, HasSubstr("GPU_IS_LOST"));
  EXPECT_THAT(text, HasSubstr("not in use: no replica"));
}

}  // namespace
}  // namespace gpuscaler
