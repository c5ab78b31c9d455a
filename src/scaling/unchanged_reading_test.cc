// An aggregator decides a moment after the newest reading, which is valid until then.
#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/test_fleet_builder.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {
namespace {

const ScaledObjectRef kLlmInTeamA{.namespace_name = "team-a", .name = "llm"};

NodeSnapshot NodeAt(double load) {
  return Node("gpu-1", {{.name = "llm-0", .owner = "llm", .loads = {load}}});
}

Decision DecidedAfter(absl::Duration pause, const Trigger& trigger, const FleetBuilder& builder) {
  FleetHistory fleet = builder.fleet();
  fleet.now += pause;
  return Decide(trigger, kLlmInTeamA, fleet, kStaleness);
}

TEST(UnchangedReading, ActivationWindowOfZeroIsTheNewestSample) {
  Trigger trigger = Utilization();
  trigger.activation_window = absl::ZeroDuration();
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {NodeAt(0)}).Tick({NodeAt(60)});
  for (const absl::Duration pause : {absl::ZeroDuration(), absl::Seconds(1), absl::Seconds(5)}) {
    EXPECT_TRUE(DecidedAfter(pause, trigger, fleet).active) << pause;
  }
  fleet.Tick({NodeAt(0)});
  for (const absl::Duration pause : {absl::ZeroDuration(), absl::Seconds(1), absl::Seconds(5)}) {
    EXPECT_FALSE(DecidedAfter(pause, trigger, fleet).active) << pause;
  }
}

TEST(UnchangedReading, WindowShorterThanAHeartbeatHasTheNewestSample) {
  Trigger trigger = Utilization();
  trigger.activation_window = absl::Seconds(1);
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {NodeAt(0)}).Tick({NodeAt(60)});
  EXPECT_TRUE(DecidedAfter(absl::Milliseconds(1500), trigger, fleet).active);
}

// One aggregator has just received that nothing changed, the other receives it a second later.
TEST(UnchangedReading, TwoAggregatorsGiveTheSameAnswerBetweenHeartbeats) {
  for (const MetricType metric : {MetricType::kGpuUtilization, MetricType::kMemoryUsedPercent}) {
    Trigger trigger = Utilization();
    trigger.metric = metric;
    trigger.preallocated_memory = PreallocatedMemory::kPressure;
    trigger.preallocation_window = absl::Seconds(11);
    const auto node = [](double load, double memory) {
      return Node(
          "gpu-1",
          {{.name = "llm-0", .owner = "llm", .loads = {load}, .memory_used_percent = memory}});
    };
    FleetBuilder one;
    one.RepeatFor(kLong, {node(20, 40)}).RepeatFor(absl::Seconds(10), {node(90, 80)});
    FleetBuilder other = one;
    one.Tick({node(90, 80)});
    const Decision received = DecidedAfter(absl::ZeroDuration(), trigger, one);
    const Decision not_yet = DecidedAfter(kTick, trigger, other);
    EXPECT_EQ(received.value, not_yet.value);
    EXPECT_EQ(received.contributions[0].because, not_yet.contributions[0].because);
    EXPECT_EQ(received.active, not_yet.active);
  }
}

TEST(UnchangedReading, ReadingsOfAStaleNodeAreUnavailable) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {NodeAt(0)}).Tick({NodeAt(60)});
  const Decision decision =
      DecidedAfter(kStaleness.stale_after + absl::Milliseconds(1), Utilization(), fleet);
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace gpuscaler
