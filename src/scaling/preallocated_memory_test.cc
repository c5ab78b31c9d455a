// Preallocated VRAM, which does not move: it shows no load.
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_decided_fleet.h"
#include "scaling/test_decided_history.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;

Trigger MemoryProfile(PreallocatedMemory standing, double target) {
  Trigger trigger;
  trigger.metric = MetricType::kMemoryUsedPercent;
  trigger.target = target;
  trigger.activation_threshold = 5;
  trigger.preallocated_memory = standing;
  trigger.activation_window = absl::Seconds(120);
  return trigger;
}

// Worked examples.
TEST(PreallocatedMemory, PreallocatedMemoryCountsAsTheProfileDefines) {
  const std::vector<GpuSample> busy = {BusyGpu(0, 30, 80), BusyGpu(1, 30, 80)};
  const std::vector<GpuSample> idle = {BusyGpu(0, 0, 80), BusyGpu(1, 0, 80)};
  const Trigger batch = MemoryProfile(PreallocatedMemory::kActivity, 70);
  EXPECT_EQ(Steady(batch, busy).value, 140);
  EXPECT_EQ(Steady(batch, idle).value, 0);
  EXPECT_FALSE(Steady(batch, idle).active);
  const Trigger literal = MemoryProfile(PreallocatedMemory::kLiteral, 70);
  EXPECT_EQ(Steady(literal, idle).value, 160);
  EXPECT_TRUE(Steady(literal, idle).literal_memory);
  EXPECT_FALSE(Steady(batch, idle).literal_memory);
  EXPECT_THAT(Explain(literal, Steady(literal, idle)), HasSubstr("taken literally"));
}

TEST(PreallocatedMemory, EngineProfileWithoutAnEngineFallsBack) {
  const std::vector<GpuSample> busy = {BusyGpu(0, 30, 91), BusyGpu(1, 40, 91)};
  const std::vector<GpuSample> idle = {BusyGpu(0, 0, 91), BusyGpu(1, 0, 91)};
  Trigger trigger = MemoryProfile(PreallocatedMemory::kPressure, 80);
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

TEST(PreallocatedMemory, MemoryNotYetWatchedCountsAtMostTheTarget) {
  const Trigger trigger = MemoryProfile(PreallocatedMemory::kPressure, 80);
  HistoryBuilder builder;
  builder.RepeatFor(absl::Seconds(60), {BusyGpu(0, 0, 91)});
  EXPECT_EQ(After(trigger, builder).value, 80);
  builder.RepeatFor(absl::Seconds(62), {BusyGpu(0, 0, 91)});
  EXPECT_EQ(After(trigger, builder).value, 0) << "preallocated after preallocationWindow";
}

TEST(PreallocatedMemory, MemoryThatHasJustRisenCountsAtMostTheTarget) {
  const Trigger trigger = MemoryProfile(PreallocatedMemory::kPressure, 80);
  HistoryBuilder builder;
  builder.RepeatFor(kLong, {BusyGpu(0, 0, 20)}).RepeatFor(absl::Seconds(60), {BusyGpu(0, 0, 91)});
  EXPECT_EQ(After(trigger, builder).value, 80);
}

TEST(PreallocatedMemory, SteadyMemoryStaysPreallocatedUntilItFallsOrTheHolderChanges) {
  const Trigger trigger = MemoryProfile(PreallocatedMemory::kPressure, 80);
  HistoryBuilder builder;
  builder.RepeatFor(absl::Seconds(130), {BusyGpu(0, 0, 91)}).RepeatFor(kTick, {BusyGpu(0, 0, 85)});
  EXPECT_TRUE(After(trigger, builder).contributions[0].is_preallocated) << "it only moved";
  HistoryBuilder fell = builder;
  fell.RepeatFor(kTick, {BusyGpu(0, 0, 40)});
  EXPECT_FALSE(After(trigger, fell).contributions[0].is_preallocated);
  GpuSample other = BusyGpu(0, 0, 91);
  other.held_since = builder.now() + kTick;
  builder.Tick({other});
  EXPECT_FALSE(After(trigger, builder).contributions[0].is_preallocated);
}

TEST(PreallocatedMemory, MemoryThatWasSteadyAnHourAgoIsStillPreallocated) {
  const Trigger batch = MemoryProfile(PreallocatedMemory::kActivity, 70);
  HistoryBuilder builder;
  builder.RepeatFor(absl::Seconds(130), {BusyGpu(0, 40, 80)});
  for (int i = 0; i < 30; ++i) {
    builder.RepeatFor(absl::Minutes(1), {BusyGpu(0, 40, 84)})
        .RepeatFor(absl::Minutes(1), {BusyGpu(0, 40, 81)});
  }
  EXPECT_EQ(After(batch, builder).value, 70);
}

TEST(PreallocatedMemory, PreallocatedReplicaThatMayHaveWorkedCountsTheTarget) {
  const Trigger batch = MemoryProfile(PreallocatedMemory::kActivity, 70);
  HistoryBuilder builder;
  builder.RepeatFor(kLong, {BusyGpu(0, 0, 80)});
  EXPECT_EQ(After(batch, builder).value, 0);
  builder.Pause(absl::Minutes(1)).Tick({BusyGpu(0, 0, 80)});
  EXPECT_EQ(After(batch, builder).value, 70) << "it may have worked in the gap";
  builder.RepeatFor(batch.activation_window, {BusyGpu(0, 0, 80)});
  EXPECT_EQ(After(batch, builder).value, 0);
}

TEST(PreallocatedMemory, LostUtilisationIsNotIdleness) {
  Trigger batch = MemoryProfile(PreallocatedMemory::kActivity, 70);
  batch.activation_window = absl::ZeroDuration();
  GpuSample without = BusyGpu(0, 0, 80);
  without.utilization_percent.reset();
  without.gaps.push_back({GpuField::kUtilization, GpuGap::Reason::kFailed, "NVML error 999"});
  HistoryBuilder builder;
  builder.RepeatFor(kLong, {BusyGpu(0, 100, 80)}).Tick({without});
  EXPECT_EQ(After(batch, builder).value, 70);
  EXPECT_TRUE(After(batch, builder).active);
  builder.RepeatFor(kStaleness.stale_after, {without});
  EXPECT_EQ(After(batch, builder).status.code(), absl::StatusCode::kUnavailable);
}

TEST(PreallocatedMemory, MemoryThatMovesIsLiteral) {
  Trigger trigger = MemoryProfile(PreallocatedMemory::kPressure, 80);
  trigger.window = 2 * kTick;
  HistoryBuilder builder;
  for (int i = 0; i < 200; ++i) builder.Tick({BusyGpu(0, 10, i % 2 == 0 ? 88 : 92)});
  EXPECT_EQ(After(trigger, builder).value, 90);
  EXPECT_FALSE(After(trigger, builder).contributions[0].is_preallocated);
}

TEST(PreallocatedMemory, PreallocatedMemoryOfAPodIsItsOwn) {
  Trigger trigger = UtilizationOf("llm");
  trigger.metric = MetricType::kMemoryUsedPercent;
  trigger.preallocated_memory = PreallocatedMemory::kPressure;
  const std::vector<NodeSnapshot> nodes = {
      Node("gpu-1", {{.name = "llm-a", .owner = "llm", .loads = {30}, .memory_used_percent = 91}})};
  EXPECT_EQ(DecidedOn(trigger, nodes).value, 30);
  EXPECT_TRUE(DecidedOn(trigger, nodes).saturation_unknown);
}

// An engine that ends frees its memory first, and its pod goes a moment later.
TEST(PreallocatedMemory, MemoryThatAPodHadBeforeItWentIsNoActivity) {
  for (const PreallocatedMemory standing :
       {PreallocatedMemory::kPressure, PreallocatedMemory::kActivity}) {
    for (const double utilization : {0.0, 60.0}) {
      Trigger trigger = UtilizationOf("llm");
      trigger.metric = MetricType::kMemoryUsedPercent;
      trigger.preallocated_memory = standing;
      trigger.preallocation_window = absl::Minutes(2);
      trigger.activation_threshold = 5;
      GpuPod engine = Llm("llm-a", utilization);
      engine.memory_used_percent = 91;
      FleetBuilder fleet;
      fleet.RepeatFor(kLong, {Node("gpu-1", {engine})});
      EXPECT_EQ(DecidedOn(trigger, fleet).active, utilization > 0);
      engine.memory_used_percent = 0;
      engine.loads = {0};
      fleet.Tick({Node("gpu-1", {engine})}).Tick({Node("gpu-1", {})});
      const Decision decision = DecidedOn(trigger, fleet);
      EXPECT_EQ(decision.active, utilization > 0) << Explain(trigger, decision);
    }
  }
}

}  // namespace
}  // namespace gpuscaler
