// Decisions on a history cut to the look-back equal those on the whole history.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/test_fleet_builder.h"
#include "scaling/test_random.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {
namespace {

const ScaledObjectRef kScaledObjectOfA{.namespace_name = "team-a", .name = "llm"};

// Repeats the newest reading of each node, and drops readings older than `kept`.
FleetHistory CutTo(absl::Duration kept, FleetHistory fleet) {
  for (NodeState& state : fleet.nodes) {
    NodeHistory history = *state.history;
    history.Extend(
        history.NewestAt() + kTick,
        {.horizon = absl::InfiniteDuration(), .join_within = 3 * kTick, .readings = kept});
    state.history = std::make_shared<const NodeHistory>(std::move(history));
    state.received_at = state.history->NewestAt();
    fleet.now = std::max(fleet.now, state.received_at);
  }
  return fleet;
}

Decision DecidedOnLast(absl::Duration kept, const Trigger& trigger, const FleetBuilder& builder) {
  return Decide(trigger, kScaledObjectOfA, CutTo(kept, builder.fleet()), kStaleness);
}

GpuPod PodAt(double load, std::optional<bool> ready = std::nullopt) {
  return {.name = "llm-0", .owner = "llm", .loads = {load}, .ready = ready};
}

TEST(LookBack, WindowThatReachesBehindWhatIsKeptNeverScalesIn) {
  FleetBuilder fleet;
  fleet.RepeatFor(absl::Minutes(8), {Node("gpu-1", {PodAt(100)})});
  fleet.RepeatFor(absl::Minutes(2), {Node("gpu-1", {PodAt(10)})});
  Trigger trigger = Utilization(80);
  trigger.window = absl::Minutes(10);
  const Decision all = DecidedOnLast(absl::InfiniteDuration(), trigger, fleet);
  EXPECT_NEAR(all.value, 82, 1);
  const Decision cut = DecidedOnLast(absl::Seconds(100), trigger, fleet);
  EXPECT_EQ(cut.value, 80) << "the target: the HPA holds";
  EXPECT_EQ(cut.contributions[0].because,
            "counts the target until readings fill the window of 10m");
  trigger.window = absl::Seconds(60);
  EXPECT_NEAR(DecidedOnLast(absl::Seconds(100), trigger, fleet).value, 10, 0.001);
}

TEST(LookBack, LoadAboveTheTargetStillScalesOut) {
  FleetBuilder fleet;
  fleet.RepeatFor(absl::Minutes(8), {Node("gpu-1", {PodAt(10)})});
  fleet.RepeatFor(absl::Minutes(2), {Node("gpu-1", {PodAt(100)})});
  Trigger trigger = Utilization(80);
  trigger.window = absl::Minutes(10);
  EXPECT_NEAR(DecidedOnLast(absl::Seconds(100), trigger, fleet).value, 100, 0.001);
}

TEST(LookBack, WorkloadStaysActiveUntilReadingsCoverItsWindow) {
  FleetBuilder fleet;
  for (int i = 0; i < 240; ++i) {
    GpuPod pod = PodAt(0);
    pod.memory_used_percent = i % 10;
    fleet.Tick({Node("gpu-1", {pod})});
  }
  Trigger trigger = Utilization();
  trigger.activation_window = absl::Minutes(5);
  EXPECT_FALSE(DecidedOnLast(absl::InfiniteDuration(), trigger, fleet).active);
  EXPECT_TRUE(DecidedOnLast(absl::Seconds(100), trigger, fleet).active);
}

TEST(LookBack, PodIsStillStartingAfterTheReadingOfItsBeginIsDropped) {
  FleetBuilder fleet;
  fleet.RepeatFor(absl::Minutes(2), {Node("gpu-1", {})});
  fleet.RepeatFor(absl::Minutes(3), {Node("gpu-1", {PodAt(60)})});
  Trigger trigger = Utilization();
  trigger.warmup = absl::Minutes(4);
  EXPECT_EQ(DecidedOnLast(absl::InfiniteDuration(), trigger, fleet).starting, 1);
  EXPECT_EQ(DecidedOnLast(absl::Seconds(100), trigger, fleet).starting, 1)
      << "a dropped reading does not end the start";
}

TEST(LookBackProperty, HistoryBeforeTheLookBackIsNotNeeded) {
  ForManySeeds([](Random& random) {
    Trigger trigger = Utilization(random.Whole(1, 100));
    if (!random.ThreeInFour()) trigger.scope = Scope::kFleet;
    if (!random.ThreeInFour()) trigger.metric = MetricType::kMemoryUsedPercent;
    trigger.preallocated_memory = static_cast<PreallocatedMemory>(random.Whole(0, 2));
    trigger.window = absl::Seconds(random.Whole(0, 40));
    trigger.activation_window = absl::Seconds(random.Whole(0, 40));
    trigger.preallocation_window = absl::Seconds(random.Whole(10, 40));
    trigger.warmup = absl::Seconds(random.Whole(0, 60));
    FleetBuilder fleet;
    for (int part = random.Whole(1, 8); part > 0; --part) {
      std::vector<NodeSnapshot> received;
      for (int node = 0; node < 2; ++node) {
        GpuPod pod = PodAt(random.Whole(0, 100));
        pod.name = absl::StrCat("llm-", node);
        pod.memory_used_percent = random.ThreeInFour() ? 80 : random.Whole(0, 99);
        if (node == 0) pod.ready = random.ThreeInFour();
        if (!random.ThreeInFour()) pod.is_terminating = true;
        NodeSnapshot snapshot =
            Node(absl::StrCat("gpu-", node),
                 random.ThreeInFour() ? std::vector<GpuPod>{pod} : std::vector<GpuPod>());
        if (random.Whole(0, 9) == 0) snapshot = NodeWithoutOwners(std::move(snapshot), "no answer");
        if (random.ThreeInFour()) received.push_back(std::move(snapshot));
      }
      fleet.RepeatFor(random.Whole(1, 20) * kTick, received);
    }
    const Decision all = DecidedOnLast(absl::InfiniteDuration(), trigger, fleet);
    const auto kept_for = [&](absl::Duration looked_back) {
      const absl::Duration readings = std::max(looked_back, LookBack(trigger));
      return DecidedOnLast(readings + kStaleness.stale_after + absl::Seconds(10), trigger, fleet);
    };
    const Decision kept = kept_for(kept_for(absl::ZeroDuration()).look_back);
    EXPECT_EQ(kept.status.code(), all.status.code()) << Explain(trigger, kept) << " for\n"
                                                     << Explain(trigger, all);
    EXPECT_NEAR(kept.value, all.value, 0.0011);
    EXPECT_EQ(kept.active, all.active) << kept.active_because << " for " << all.active_because;
    EXPECT_EQ(kept.replicas, all.replicas);
    EXPECT_EQ(kept.unreadable, all.unreadable);
    EXPECT_EQ(kept.starting, all.starting);
  });
}

}  // namespace
}  // namespace gpuscaler
