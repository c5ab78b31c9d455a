// When a workload becomes active, and what it takes to become inactive.
#include "gtest/gtest.h"
#include "scaling/test_decided_fleet.h"
#include "scaling/test_decided_history.h"

namespace gpuscaler {
namespace {

TEST(Activity, ActiveIsStrictlyAboveTheThresholdWithinTheWindow) {
  Trigger trigger = Utilization();
  trigger.activation_threshold = 10;
  EXPECT_FALSE(Steady(trigger, {BusyGpu(0, 10)}).active);
  HistoryBuilder builder;
  builder.RepeatFor(kLong, {BusyGpu(0, 0)}).Tick({BusyGpu(0, 11)});
  EXPECT_TRUE(After(trigger, builder).active);
  builder.RepeatFor(trigger.activation_window, {BusyGpu(0, 0)});
  EXPECT_TRUE(After(trigger, builder).active);
  builder.Tick({BusyGpu(0, 0)});
  EXPECT_FALSE(After(trigger, builder).active);
}

TEST(Activity, InactiveNeedsSamplesThatCoverTheWindow) {
  const Trigger trigger = Utilization();
  HistoryBuilder builder;
  builder.RepeatFor(trigger.activation_window, {BusyGpu(0, 0)});
  EXPECT_TRUE(After(trigger, builder).active) << "one tick short of the window since the start";
  builder.Tick({BusyGpu(0, 0)});
  EXPECT_FALSE(After(trigger, builder).active);
  builder.Pause(absl::Seconds(10)).Tick({BusyGpu(0, 0)});
  EXPECT_TRUE(After(trigger, builder).active) << "after a gap longer than stale_after";
  builder.RepeatFor(trigger.activation_window, {BusyGpu(0, 0)});
  EXPECT_FALSE(After(trigger, builder).active);
}

TEST(Activity, ReplicaWithUnreadTimeInTheWindowIsNoEvidenceOfIdleness) {
  const Trigger trigger = Utilization();
  HistoryBuilder builder;
  builder.RepeatFor(kLong, {BusyGpu(0, 0)}).RepeatFor(absl::Seconds(10), {LostGpu(0)});
  builder.Tick({BusyGpu(0, 0)});
  EXPECT_TRUE(After(trigger, builder).active);
  builder.RepeatFor(trigger.activation_window, {BusyGpu(0, 0)});
  EXPECT_FALSE(After(trigger, builder).active);
}

TEST(Activity, ReplicaThatHasGoneCountsForActivityWithinTheWindow) {
  const Trigger trigger = Utilization();
  HistoryBuilder builder;
  builder.RepeatFor(kLong, {BusyGpu(0, 90), BusyGpu(1, 0)}).Tick({FreeGpu(0), BusyGpu(1, 0)});
  EXPECT_TRUE(After(trigger, builder).active) << "its GPU is free";
  EXPECT_EQ(After(trigger, builder).value, 84) << "28 s of 30 at 90";
  EXPECT_EQ(After(trigger, builder).replicas, 1);
  HistoryBuilder lost;
  lost.RepeatFor(kLong, {BusyGpu(0, 90), BusyGpu(1, 0)}).Tick({BusyGpu(1, 0)});
  EXPECT_TRUE(After(trigger, lost).active) << "its GPU is gone";
  lost.RepeatFor(trigger.activation_window, {BusyGpu(1, 0)});
  EXPECT_FALSE(After(trigger, lost).active);
}

TEST(Activity, PodThatHasGoneCountsForActivityWithinTheWindow) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("gpu-1", {Llm("llm-a", 90)})}).Tick({Node("gpu-1", {})});
  EXPECT_TRUE(DecidedOn(UtilizationOf("llm"), fleet).active);
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).value, 84) << "28 s of 30 at 90";
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).replicas, 0);
  EXPECT_TRUE(DecidedOn(Utilization(), fleet).active) << "its owner is known";
  fleet.RepeatFor(Utilization().activation_window + kTick, {Node("gpu-1", {})});
  EXPECT_FALSE(DecidedOn(UtilizationOf("llm"), fleet).active);
}

TEST(Activity, IdleGpusOfAnExtensiveMetricDoNotWakeTheWorkload) {
  Trigger trigger;
  trigger.metric = MetricType::kPowerDraw;
  EXPECT_FALSE(Steady(trigger, {FreeGpu(0), FreeGpu(1)}).active);
}

TEST(Activity, AlwaysActiveTriggerIsNeverAtZero) {
  Trigger trigger = Utilization();
  trigger.always_active = true;
  EXPECT_TRUE(Steady(trigger, {FreeGpu(0)}).active);
}

}  // namespace
}  // namespace gpuscaler
