// The value while replicas start or end.
#include "scaling/hold.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_decided_fleet.h"

namespace gpuscaler {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Nodes = std::vector<NodeSnapshot>;

GpuPod Serving(const char* name, double load) {
  return {.name = name, .owner = "llm", .loads = {load}, .ready = true, .is_terminating = false};
}

GpuPod Starting(const char* name, absl::Time listed_since) {
  return {.name = name,
          .owner = "llm",
          .loads = {0},
          .ready = false,
          .listed_since = listed_since,
          .is_terminating = false};
}

GpuPod Ending(const char* name) {
  return {.name = name, .owner = "llm", .loads = {0}, .ready = false, .is_terminating = true};
}

Decision Decided(const FleetBuilder& fleet) { return DecidedOn(UtilizationOf("llm"), fleet); }

TEST(Hold, AStartHoldsTheHighestValueOfTheFiveMinutesBeforeIt) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("n", {Serving("llm-a", 60)})});
  fleet.RepeatFor(absl::Minutes(1), {Node("n", {Serving("llm-a", 90)})});
  fleet.RepeatFor(absl::Minutes(3), {Node("n", {Serving("llm-a", 40)})});
  EXPECT_EQ(Decided(fleet).value, 40);
  const Nodes starts = {Node("n", {Serving("llm-a", 40), Starting("llm-b", fleet.now() + kTick)})};
  for (int minute = 0; minute < 10; ++minute) {
    fleet.RepeatFor(absl::Minutes(1), starts);
    EXPECT_EQ(Decided(fleet).value, 90) << minute;
    EXPECT_EQ(Decided(fleet).replicas, 1);
  }
  EXPECT_THAT(Decided(fleet).held_because, HasSubstr("llm-b starts; before it was 90 %"));
  EXPECT_THAT(Explain(UtilizationOf("llm"), Decided(fleet)),
              HasSubstr("note: holds: llm-b starts"));
  fleet.RepeatFor(absl::Minutes(1), {Node("n", {Serving("llm-a", 40), Serving("llm-b", 10)})});
  EXPECT_EQ(Decided(fleet).value, 50);
  EXPECT_EQ(Decided(fleet).held_because, "");
  EXPECT_EQ(Decided(fleet).look_back, absl::ZeroDuration());
}

TEST(Hold, OlderValuesDoNotHold) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("n", {Serving("llm-a", 90)})});
  fleet.RepeatFor(absl::Minutes(6), {Node("n", {Serving("llm-a", 40)})});
  fleet.RepeatFor(kTick,
                  {Node("n", {Serving("llm-a", 40), Starting("llm-b", fleet.now() + kTick)})});
  EXPECT_EQ(Decided(fleet).value, 40);
}

TEST(Hold, AHigherLoadIsFollowed) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("n", {Serving("llm-a", 40)})});
  fleet.RepeatFor(absl::Minutes(1),
                  {Node("n", {Serving("llm-a", 90), Starting("llm-b", fleet.now() + kTick)})});
  EXPECT_EQ(Decided(fleet).value, 90);
  EXPECT_THAT(Decided(fleet).held_because, IsEmpty());
}

TEST(Hold, EachStartHoldsTheTimeBeforeItself) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("n", {Serving("llm-a", 40)})});
  const GpuPod first = Starting("llm-b", fleet.now());
  fleet.RepeatFor(absl::Minutes(1), {Node("n", {Serving("llm-a", 90), first})});
  fleet.RepeatFor(absl::Minutes(1), {Node("n", {Serving("llm-a", 10), first})});
  EXPECT_EQ(Decided(fleet).value, 40);
  fleet.Tick({Node("n", {Serving("llm-a", 10), first, Starting("llm-c", fleet.now() + kTick)})});
  EXPECT_EQ(Decided(fleet).value, 90);
}

TEST(Hold, StartsFromZeroHoldTheTargetForEach) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("n", {})});
  const absl::Time listed = fleet.now() + kTick;
  fleet.RepeatFor(absl::Minutes(1),
                  {Node("n", {Starting("llm-a", listed), Starting("llm-b", listed)})});
  EXPECT_EQ(Decided(fleet).value, 2 * 80);
  fleet.RepeatFor(absl::Minutes(1), {Node("n", {Serving("llm-a", 10), Starting("llm-b", listed)})});
  EXPECT_EQ(Decided(fleet).value, 2 * 80);
  EXPECT_THAT(Decided(fleet).held_because,
              "llm-b starts, and what it was before is not known: the target for 2 replicas");
}

TEST(Hold, LoadOfGoneReplicasIsHeldForALaterStart) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("n", {Serving("llm-a", 90)})});
  fleet.RepeatFor(absl::Minutes(3), {Node("n", {})});
  EXPECT_EQ(Decided(fleet).value, 0);
  fleet.Tick({Node("n", {Starting("llm-b", fleet.now() + kTick)})});
  EXPECT_EQ(Decided(fleet).value, 90);
}

TEST(Hold, AStartOlderThanTheHistoryHoldsItsOldestFiveMinutes) {
  FleetBuilder fleet;
  fleet.Remember(absl::Minutes(15));
  const GpuPod starting = Starting("llm-b", fleet.now());
  for (int minute = 0; minute < 25; ++minute) {
    GpuPod serving = Serving("llm-a", minute < 15 ? 70 : 20);
    serving.memory_used_percent = minute;  // a run of its own for each minute
    fleet.RepeatFor(absl::Minutes(1), {Node("n", {serving, starting})});
  }
  EXPECT_EQ(Decided(fleet).value, 70);
  EXPECT_EQ(Decided(fleet).look_back, absl::Minutes(15));
}

TEST(Hold, AStartOfMoreThan30MinutesHoldsNothingAndIsNamed) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("n", {Serving("llm-a", 90)})});
  const GpuPod starting = Starting("llm-b", fleet.now() + kTick);
  fleet.RepeatFor(absl::Minutes(29), {Node("n", {Serving("llm-a", 40), starting})});
  EXPECT_EQ(Decided(fleet).value, 90);
  EXPECT_THAT(Decided(fleet).unstarted, IsEmpty());
  fleet.RepeatFor(absl::Minutes(2), {Node("n", {Serving("llm-a", 40), starting})});
  EXPECT_EQ(Decided(fleet).value, 40);
  EXPECT_EQ(Decided(fleet).replicas, 1);
  EXPECT_THAT(Decided(fleet).unstarted, ElementsAre("llm-b"));
  EXPECT_THAT(Decided(fleet).notes, Contains(HasSubstr("llm-b did not start within 30m")));
}

TEST(Hold, WithTargetTypeValueTheValueIsTheTarget) {
  Trigger trigger = UtilizationOf("llm");
  trigger.target_type = TargetType::kValue;
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("n", {Serving("llm-a", 70), Serving("llm-b", 70)})});
  const GpuPod starting = Starting("llm-c", fleet.now() + kTick);
  fleet.RepeatFor(absl::Minutes(1), {Node("n", {Serving("llm-a", 100), starting})});
  EXPECT_EQ(DecidedOn(trigger, fleet).value, 80) << "100 is no more than two replicas need";
  fleet.RepeatFor(absl::Minutes(1),
                  {Node("n", {Serving("llm-a", 100), Serving("llm-b", 100), starting})});
  EXPECT_EQ(DecidedOn(trigger, fleet).value, 100) << "200 is";
}

TEST(Hold, OtherAggregationsHoldTheirOwnValue) {
  Trigger trigger = UtilizationOf("llm");
  trigger.replica_aggregation = ReplicaAggregation::kMax;
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("n", {Serving("llm-a", 70), Serving("llm-b", 10)})});
  const GpuPod starting = Starting("llm-c", fleet.now() + kTick);
  fleet.RepeatFor(absl::Minutes(1),
                  {Node("n", {Serving("llm-a", 20), Serving("llm-b", 10), starting})});
  EXPECT_EQ(DecidedOn(trigger, fleet).value, 2 * 70);
}

TEST(Hold, NothingIsHeldWithoutOwners) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("n", {Serving("llm-a", 90)})});
  fleet.RepeatFor(absl::Minutes(2), {Node("n", {Serving("llm-a", 40)})});
  NodeSnapshot starts = Node("n", {Serving("llm-a", 40), Starting("llm-b", fleet.now() + kTick)});
  for (GpuSample& gpu : starts.gpus.Own()) gpu.held_since = fleet.now() - absl::Minutes(9);
  starts.gpus[1].held_since = fleet.now() + kTick;
  fleet.RepeatFor(absl::Minutes(1), {starts});
  EXPECT_EQ(Decided(fleet).value, 90);
  Trigger trigger = Utilization();
  trigger.warmup = absl::Minutes(5);
  trigger.scope = Scope::kFleet;
  EXPECT_EQ(DecidedOn(trigger, fleet).starting, 1);
  EXPECT_EQ(DecidedOn(trigger, fleet).value, 40);
}

TEST(Terminating, AReplicaLeavesAsSoonAsItIsDeletedAndKeepsItsPast) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("n", {Serving("llm-a", 60), Serving("llm-b", 60)})});
  fleet.Tick({Node("n", {Serving("llm-a", 60), Ending("llm-b")})});
  EXPECT_EQ(Decided(fleet).replicas, 1);
  EXPECT_EQ(Decided(fleet).terminating, 1);
  EXPECT_EQ(Decided(fleet).value, 120);
  fleet.RepeatFor(absl::Minutes(1), {Node("n", {Serving("llm-a", 60), Ending("llm-b")})});
  EXPECT_EQ(Decided(fleet).value, 60);
  EXPECT_THAT(Explain(UtilizationOf("llm"), Decided(fleet)),
              HasSubstr("; 1 terminating beside them)\nnodes: n (1 replica, read "));
}

TEST(Terminating, LoadThatMovesBetweenReplicasDoesNotChangeTheValue) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("n", {Serving("llm-a", 60), Serving("llm-b", 60)})});
  for (int i = 0; i < 30; ++i) {
    fleet.Tick({Node("n", {Serving("llm-a", 60), Ending("llm-b"), Serving("llm-c", 60)})});
    EXPECT_NEAR(Decided(fleet).value, 120, 0.001) << i;
    EXPECT_EQ(Decided(fleet).replicas, 2);
  }
}

TEST(Terminating, WhileNoReplicaIsCountedTheValueIsHeld) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("n", {Serving("llm-a", 60), Serving("llm-b", 90)})});
  fleet.RepeatFor(absl::Minutes(8), {Node("n", {Ending("llm-a"), Ending("llm-b")})});
  EXPECT_EQ(Decided(fleet).replicas, 0);
  EXPECT_NEAR(Decided(fleet).value, 150, 0.001);
  EXPECT_THAT(Decided(fleet).held_because, HasSubstr("terminates, and no replica is counted"));
  EXPECT_TRUE(Decided(fleet).active);
  fleet.Tick({Node("n", {})});
  EXPECT_EQ(Decided(fleet).value, 0);
}

TEST(Terminating, ADeletedReplicaKeepsActiveWhatWasActive) {
  for (const double load : {0.0, 60.0}) {
    FleetBuilder fleet;
    fleet.RepeatFor(kLong, {Node("n", {Serving("llm-a", load)})});
    fleet.RepeatFor(absl::Minutes(8), {Node("n", {Ending("llm-a")})});
    EXPECT_EQ(Decided(fleet).active, load > 0) << Decided(fleet).active_because;
    fleet.RepeatFor(kTick, {Node("n", {})});
    EXPECT_FALSE(Decided(fleet).active) << Decided(fleet).active_because;
  }
}

TEST(Terminating, DeletedStartingReplicaKeepsNothingActive) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("n", {})});
  fleet.RepeatFor(absl::Minutes(2), {Node("n", {Starting("llm-a", fleet.now() + kTick)})});
  EXPECT_TRUE(Decided(fleet).active);
  fleet.RepeatFor(absl::Minutes(1), {Node("n", {Ending("llm-a")})});
  EXPECT_FALSE(Decided(fleet).active) << Decided(fleet).active_because;
}

TEST(Start, EndsOnceThePodWasReady) {
  FleetBuilder fleet;
  NodeSnapshot node = Node("n", {Starting("llm-a", fleet.now() + kTick)});
  fleet.RepeatFor(kLong, {node});
  EXPECT_EQ(Decided(fleet).starting, 1);
  node.pods[0].was_ready = true;  // between two readings
  node.gpus[0].utilization_percent = 50;
  fleet.RepeatFor(absl::Minutes(1), {node});
  EXPECT_EQ(Decided(fleet).starting, 0);
  EXPECT_EQ(Decided(fleet).value, 50);
}

// A kubelet reports Ready=False for seconds after its restart, and nothing without its Pods API.
TEST(Start, APodThatWasReadyStaysReady) {
  Trigger trigger = UtilizationOf("llm");
  trigger.warmup = absl::Minutes(5);
  for (const std::optional<bool> ready : {std::optional(false), std::optional<bool>()}) {
    NodeSnapshot node = Node("n", {Serving("llm-a", 60)});
    node.pods[0].was_ready = true;
    FleetBuilder fleet;
    fleet.RepeatFor(kLong, {node});
    node.pods[0].ready = ready;
    FleetBuilder without_past;
    without_past.RepeatFor(absl::Seconds(4), {Node("n", {})}).RepeatFor(absl::Minutes(2), {node});
    for (FleetBuilder* const seen : {&fleet.RepeatFor(absl::Minutes(2), {node}), &without_past}) {
      const Decision decision = DecidedOn(trigger, *seen);
      EXPECT_EQ(decision.value, 60) << ready.has_value();
      EXPECT_EQ(decision.replicas, 1);
      EXPECT_EQ(decision.starting, 0);
      EXPECT_EQ(decision.held_because, "");
    }
  }
}

Trigger MemoryOf(const char* workload) {
  Trigger trigger = UtilizationOf(workload);
  trigger.metric = MetricType::kMemoryUsedPercent;
  trigger.preallocated_memory = PreallocatedMemory::kPressure;
  trigger.warmup = absl::Minutes(10);
  return trigger;
}

TEST(Start, MemoryThatIsLoadedEndsIt) {
  const auto with_memory = [](double percent) {
    return Nodes{Node(
        "n", {{.name = "llm-a", .owner = "llm", .loads = {30}, .memory_used_percent = percent}})};
  };
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("n", {})});
  for (const int percent : {20, 40, 60, 80})
    fleet.RepeatFor(absl::Seconds(30), with_memory(percent));
  fleet.RepeatFor(absl::Seconds(80), with_memory(80));
  EXPECT_EQ(DecidedOn(MemoryOf("llm"), fleet).starting, 1);
  fleet.RepeatFor(absl::Seconds(20), with_memory(80));
  EXPECT_EQ(DecidedOn(MemoryOf("llm"), fleet).starting, 0);
  fleet.RepeatFor(absl::Minutes(1), with_memory(80));
  EXPECT_EQ(DecidedOn(MemoryOf("llm"), fleet).value, 30) << "evaluated at once";
}

TEST(NotEvaluated, AReplicaCountsAtMostTheMeanOfTheOthers) {
  const auto pod = [](const char* name, double load, double memory) {
    GpuPod gpu_pod = Serving(name, load);
    gpu_pod.memory_used_percent = memory;
    return gpu_pod;
  };
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("n", {pod("llm-a", 20, 90), pod("llm-b", 40, 90)})});
  EXPECT_EQ(DecidedOn(MemoryOf("llm"), fleet).value, 60);
  fleet.RepeatFor(absl::Minutes(1),
                  {Node("n", {pod("llm-a", 20, 90), pod("llm-b", 40, 90), pod("llm-c", 0, 90)})});
  EXPECT_NEAR(DecidedOn(MemoryOf("llm"), fleet).value, 60 + 30, 0.001);
  fleet.RepeatFor(absl::Minutes(2),
                  {Node("n", {pod("llm-a", 20, 90), pod("llm-b", 40, 90), pod("llm-c", 0, 90)})});
  EXPECT_NEAR(DecidedOn(MemoryOf("llm"), fleet).value, 60, 0.001);
}

}  // namespace
}  // namespace gpuscaler
