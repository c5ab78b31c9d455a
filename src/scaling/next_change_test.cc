#include "scaling/next_change.h"

#include <utility>

#include "gtest/gtest.h"
#include "scaling/test_decided_fleet.h"
#include "scaling/test_random.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kShortest = absl::Nanoseconds(1);

Decision DecidedAt(const Trigger& trigger, FleetHistory fleet, absl::Time now) {
  fleet.now = now;
  return Decide(trigger, kLlmOfTeamA, fleet, kStaleness);
}

TEST(NextChange, DecisionWithoutPodsLastsForEver) {
  const Decision decision = DecidedOn(Utilization(), FleetBuilder());
  EXPECT_EQ(decision.valid_until, absl::InfiniteFuture());
  EXPECT_EQ(decision.active_until, absl::InfiniteFuture());
}

TEST(NextChange, SteadyDecisionLastsUntilReadingsAreStale) {
  FleetBuilder fleet;
  fleet.RepeatFor(absl::Minutes(10),
                  {Node("gpu-1", {{.name = "a", .owner = "llm", .loads = {60}}})});
  const Decision decision = DecidedOn(Utilization(), fleet);
  EXPECT_EQ(decision.valid_until, fleet.now() + absl::Seconds(6));
  EXPECT_EQ(decision.active_until, fleet.now() + absl::Seconds(6));
}

TEST(NextChange, AverageOfDifferingReadingsChangesAndItsActivityDoesNot) {
  FleetBuilder fleet;
  fleet.RepeatFor(absl::Minutes(10),
                  {Node("gpu-1", {{.name = "a", .owner = "llm", .loads = {60}}})});
  fleet.RepeatFor(absl::Seconds(4),
                  {Node("gpu-1", {{.name = "a", .owner = "llm", .loads = {90}}})});
  const Decision decision = DecidedOn(Utilization(), fleet);
  EXPECT_EQ(decision.valid_until, fleet.now() + kShortest);
  EXPECT_GT(decision.active_until, fleet.now() + absl::Seconds(1));
}

TEST(NextChange, NewestSampleAloneLeavesNoWindow) {
  FleetBuilder fleet;
  fleet.RepeatFor(absl::Minutes(10),
                  {Node("gpu-1", {{.name = "a", .owner = "llm", .loads = {60}}})});
  fleet.RepeatFor(absl::Seconds(4),
                  {Node("gpu-1", {{.name = "a", .owner = "llm", .loads = {90}}})});
  Trigger trigger = Utilization();
  trigger.activation_window = absl::ZeroDuration();
  EXPECT_GT(DecidedOn(trigger, fleet).active_until, fleet.now() + absl::Seconds(1));
}

TEST(NextChange, StartingReplicaIsEvaluatedAgainOnceItHasStarted) {
  FleetBuilder fleet;
  fleet.RepeatFor(absl::Minutes(10), {Node("gpu-1", {})});
  fleet.Tick({Node("gpu-1", {{.name = "a", .owner = "llm", .loads = {60}}})});
  Trigger trigger = Utilization();
  trigger.warmup = absl::Seconds(5);
  const Decision decision = DecidedOn(trigger, fleet);
  EXPECT_EQ(decision.starting, 1);
  EXPECT_LE(decision.active_until, fleet.now() + absl::Seconds(5));
}

TEST(NextChange, AgeInWordsIsNoOlderThanASecond) {
  FleetBuilder fleet;
  fleet.RepeatFor(absl::Minutes(10),
                  {Node("gpu-1", {{.name = "a", .owner = "llm", .loads = {60}}})});
  fleet.Disconnect("gpu-1", "connection refused");
  const absl::Time later = fleet.now() + absl::Minutes(5);
  const Decision decision = DecidedAt(Utilization(), fleet.fleet(), later);
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(decision.valid_until, later + absl::Seconds(1));
  EXPECT_GE(decision.active_until, later + absl::Minutes(1));
}

TEST(NextChange, ReadingAboveTheThresholdIsEvidenceWhateverIsReported) {
  FleetBuilder fleet;
  const auto hold = [&](absl::Duration duration, double load) {
    fleet.RepeatFor(duration, {Node("gpu-1", {{.name = "a", .owner = "llm", .loads = {load}}})});
  };
  Trigger trigger = Utilization();
  trigger.activation_window = absl::Minutes(1);
  hold(absl::Minutes(10), 0);
  EXPECT_EQ(DecidedOn(trigger, fleet).evidence_until, absl::InfinitePast());
  hold(kTick, 60);
  const Decision busy = DecidedOn(trigger, fleet);
  EXPECT_GT(busy.evidence_until, fleet.now() + absl::Seconds(50));
  while (fleet.now() + kTick < busy.evidence_until) {
    hold(kTick, 0);
    EXPECT_TRUE(DecidedOn(trigger, fleet).active) << fleet.now();
  }
  trigger.always_active = true;
  EXPECT_EQ(DecidedOn(trigger, fleet).evidence_until, absl::InfiniteFuture());
}

Trigger RandomTrigger(Random& random) {
  Trigger trigger;
  trigger.scope = random.OneIn(4) ? Scope::kFleet : Scope::kWorkload;
  if (trigger.scope == Scope::kWorkload) trigger.workload = "llm";
  trigger.metric = std::vector{MetricType::kGpuUtilization, MetricType::kMemoryUsedPercent,
                               MetricType::kPowerDraw}[static_cast<size_t>(random.Whole(0, 2))];
  trigger.target_type = random.OneIn(3) ? TargetType::kValue : TargetType::kAverageValue;
  trigger.window = absl::Seconds(random.OneIn(3) ? 0 : random.Whole(1, 60));
  trigger.window_aggregation = static_cast<WindowAggregation>(random.Whole(0, 2));
  trigger.activation_window = absl::Seconds(random.OneIn(5) ? 0 : random.Whole(1, 60));
  trigger.activation_threshold = random.Whole(0, 60);
  trigger.preallocation_window = absl::Seconds(random.Whole(10, 60));
  trigger.warmup = absl::Seconds(random.OneIn(2) ? 0 : random.Whole(1, 40));
  trigger.preallocated_memory = static_cast<PreallocatedMemory>(random.Whole(0, 2));
  trigger.engine_fallback = static_cast<EngineFallback>(random.Whole(0, 2));
  trigger.scale_in = random.OneIn(4) ? ScaleIn::kHold : ScaleIn::kFollow;
  return trigger;
}

// Makes the node's GPUs instances of a GPU that is first or last, and alone has power readings.
void MakeInstances(Random& random, NodeSnapshot& node) {
  GpuSample parent = FreeGpu(0);
  parent.uuid = absl::StrCat(node.node, ":parent");
  for (GpuSample& gpu : node.gpus.Own()) {
    gpu.index = 0;
    gpu.parent_uuid = parent.uuid;
    gpu.power_watts.reset();
  }
  node.gpus.Own().insert(random.OneIn(2) ? node.gpus.begin() : node.gpus.end(), parent);
}

NodeSnapshot RandomNodeSnapshot(Random& random, int node) {
  std::vector<GpuPod> pods;
  for (int i = random.Whole(0, 2); i > 0; --i) {
    GpuPod pod{.name = absl::StrCat("llm-", node, "-", i), .owner = "llm"};
    for (int gpu = random.Whole(1, 2); gpu > 0; --gpu) {
      pod.loads.push_back(random.OneIn(2) ? 0 : random.Whole(0, 100));
    }
    if (random.OneIn(3)) pod.group = "llm-0";
    if (random.OneIn(3)) pod.ready = !random.OneIn(3);
    if (random.OneIn(4)) pod.is_terminating = random.OneIn(2);
    pod.memory_used_percent = random.OneIn(2) ? 80 : random.Whole(0, 99);
    pods.push_back(std::move(pod));
  }
  NodeSnapshot snapshot = Node(absl::StrCat("gpu-", node), pods);
  for (GpuSample& gpu : snapshot.gpus.Own()) {
    if (!random.OneIn(6)) continue;
    const GpuSample lost = LostGpu(gpu.index);
    gpu.utilization_percent = lost.utilization_percent;
    gpu.memory_used_bytes = lost.memory_used_bytes;
    gpu.power_watts = lost.power_watts;
    gpu.gaps = lost.gaps;
  }
  if (random.OneIn(4)) MakeInstances(random, snapshot);
  return random.OneIn(8) ? NodeWithoutOwners(std::move(snapshot), "no answer") : snapshot;
}

// Nodes are unchanged for a while, and some have no readings at times.
FleetHistory RandomFleet(Random& random) {
  FleetBuilder builder;
  const int nodes = random.Whole(0, 3);
  for (int part = random.Whole(1, 6); part > 0; --part) {
    std::vector<NodeSnapshot> received;
    for (int node = 0; node < nodes; ++node) {
      if (!random.OneIn(5)) received.push_back(RandomNodeSnapshot(random, node));
    }
    builder.RepeatFor(random.Whole(1, 20) * kTick, received);
  }
  FleetHistory fleet = builder.fleet();
  for (NodeState& state : fleet.nodes) {
    if (random.OneIn(3)) state.why_disconnected = "connection refused";
  }
  fleet.now += absl::Milliseconds(random.Whole(0, 5000));
  return fleet;
}

void ExpectSameStatusAndActivity(const Decision& was, const Decision& is) {
  EXPECT_EQ(was.status.code(), is.status.code()) << was.status << " is now " << is.status;
  EXPECT_EQ(was.active, is.active) << was.active_because << ", now " << is.active_because;
}

void ExpectSameInAll(const Decision& was, const Decision& is) {
  ExpectSameStatusAndActivity(was, is);
  EXPECT_NEAR(was.value, is.value, 0.0011);  // one unit of the last rounded digit
  EXPECT_EQ(was.replicas, is.replicas);
  EXPECT_EQ(was.unreadable, is.unreadable);
  EXPECT_EQ(was.starting, is.starting);
  EXPECT_EQ(was.partial, is.partial);
  ASSERT_EQ(was.contributions.size(), is.contributions.size());
  for (size_t i = 0; i < is.contributions.size(); ++i) {
    const Contribution& contribution = was.contributions[i];
    EXPECT_EQ(contribution.name, is.contributions[i].name);
    EXPECT_EQ(contribution.state, is.contributions[i].state) << contribution.name;
    EXPECT_EQ(contribution.busy, is.contributions[i].busy) << contribution.name;
    EXPECT_EQ(contribution.is_preallocated, is.contributions[i].is_preallocated)
        << contribution.name;
    EXPECT_NEAR(contribution.load.value_or(-1), is.contributions[i].load.value_or(-1), 1e-6)
        << contribution.name;
  }
}

// The instants are in [from, until) and include the very last one.
std::vector<absl::Time> InstantsIn(Random& random, absl::Time from, absl::Time until) {
  const absl::Time last = std::min(until - kShortest, from + absl::Hours(1));
  return {last, from + random.Real(0, 1) * (last - from), from + random.Real(0, 1) * (last - from)};
}

// As of `at`, nodes that are neither disconnected nor stale have reported that nothing changed.
FleetHistory WithHeartbeats(Random& random, FleetHistory fleet, absl::Time at) {
  for (NodeState& state : fleet.nodes) {
    const absl::Duration age = at - state.history->NewestAt();
    if (!state.why_disconnected.empty() || age > kStaleness.stale_after || random.OneIn(4))
      continue;
    NodeHistory history = *state.history;
    history.Extend(history.NewestAt() + random.Real(0, 1) * age,
                   {.horizon = absl::InfiniteDuration(), .join_within = kStaleness.stale_after});
    state.history = std::make_shared<const NodeHistory>(std::move(history));
    state.received_at = at;
  }
  return fleet;
}

TEST(NextChangeProperty, NothingChangesBeforeValidUntil) {
  int lasting = 0;
  for (int seed = 0; seed < 1500 / kPartOfSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Trigger trigger = RandomTrigger(random);
    const FleetHistory fleet = RandomFleet(random);
    absl::Time now = fleet.now;
    for (int hop = 0; hop < 8 && now < fleet.now + absl::Hours(2); ++hop) {
      const Decision decision = DecidedAt(trigger, fleet, now);
      ASSERT_LT(now, decision.valid_until);
      ASSERT_LE(decision.valid_until, decision.active_until);
      if (decision.valid_until > now + absl::Milliseconds(100)) ++lasting;
      for (const absl::Time at : InstantsIn(random, now, decision.valid_until)) {
        SCOPED_TRACE(absl::StrCat("hop ", hop, ", after ", absl::FormatDuration(at - now)));
        ExpectSameInAll(decision, DecidedAt(trigger, fleet, at));
        ExpectSameInAll(decision, DecidedAt(trigger, WithHeartbeats(random, fleet, at), at));
      }
      for (const absl::Time at : InstantsIn(random, now, decision.active_until)) {
        SCOPED_TRACE(absl::StrCat("hop ", hop, ", after ", absl::FormatDuration(at - now)));
        ExpectSameStatusAndActivity(decision, DecidedAt(trigger, fleet, at));
        ExpectSameStatusAndActivity(decision,
                                    DecidedAt(trigger, WithHeartbeats(random, fleet, at), at));
      }
      now = decision.active_until;
    }
  }
  EXPECT_GT(lasting, 1500 / kPartOfSeeds) << "a test in which all is decided again shows nothing";
}

}  // namespace
}  // namespace gpuscaler
