#include "scaling/idle_fast_path.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/test_sanitizer.h"
#include "gtest/gtest.h"
#include "scaling/test_fleet_builder.h"
#include "scaling/test_random.h"
#include "scaling/test_signal_builder.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {
namespace {

const ScaledObjectRef kOwnScaledObject{.namespace_name = "team-a", .name = "scaler"};
constexpr absl::Duration kInstant = absl::Nanoseconds(1);

Trigger OnLlm() {
  Trigger trigger;
  trigger.workload = "llm";
  return trigger;
}

std::optional<IdleFastPath> IdleOn(const Trigger& trigger, const FleetHistory& fleet) {
  return IdleFastPath::Of(trigger, fleet, kStaleness,
                          Decide(trigger, kOwnScaledObject, fleet, kStaleness));
}

GpuPod LlmAt(double load) { return {.name = "llm-a", .owner = "llm", .loads = {load}}; }
GpuPod Other(double load) { return {.name = "x", .owner = "other", .loads = {load}}; }

TEST(IdleFastPath, LoadOfOtherPodsDoesNotEndIt) {
  FleetBuilder builder;
  builder.RepeatFor(kLong, {Node("gpu-1", {LlmAt(0), Other(70)})});
  auto idle = IdleOn(OnLlm(), builder.fleet());
  ASSERT_TRUE(idle.has_value());
  for (const double load : {90, 10, 100}) {
    builder.Tick({Node("gpu-1", {LlmAt(0), Other(load)})});
    EXPECT_EQ(idle->InactiveUntil(builder.fleet()), builder.now() + kStaleness.stale_after);
  }
}

TEST(IdleFastPath, OwnLoadEndsIt) {
  Trigger trigger = OnLlm();
  trigger.activation_threshold = 5;
  FleetBuilder builder;
  builder.RepeatFor(kLong, {Node("gpu-1", {LlmAt(0)})});
  auto idle = IdleOn(trigger, builder.fleet());
  ASSERT_TRUE(idle.has_value());
  EXPECT_TRUE(idle->InactiveUntil(builder.Tick({Node("gpu-1", {LlmAt(5)})}).fleet()));
  EXPECT_FALSE(idle->InactiveUntil(builder.Tick({Node("gpu-1", {LlmAt(5.1)})}).fleet()));
}

TEST(IdleFastPath, ReadingBetweenTwoChecksEndsIt) {
  FleetBuilder builder;
  builder.RepeatFor(kLong, {Node("gpu-1", {LlmAt(0)})});
  auto idle = IdleOn(OnLlm(), builder.fleet());
  ASSERT_TRUE(idle.has_value());
  builder.Tick({Node("gpu-1", {LlmAt(30)})}).Tick({Node("gpu-1", {LlmAt(0)})});
  EXPECT_FALSE(idle->InactiveUntil(builder.fleet()));
}

TEST(IdleFastPath, NewPodEndsIt) {
  FleetBuilder builder;
  builder.RepeatFor(kLong, {Node("gpu-1", {LlmAt(0)})});
  auto idle = IdleOn(OnLlm(), builder.fleet());
  ASSERT_TRUE(idle.has_value());
  EXPECT_FALSE(idle->InactiveUntil(builder.Tick({Node("gpu-1", {LlmAt(0), Other(0)})}).fleet()));
}

TEST(IdleFastPath, StaleReadingsEndIt) {
  FleetBuilder builder;
  builder.RepeatFor(kLong, {Node("gpu-1", {LlmAt(0)})});
  auto idle = IdleOn(OnLlm(), builder.fleet());
  ASSERT_TRUE(idle.has_value());
  FleetHistory late = builder.fleet();
  late.now += kStaleness.stale_after;
  EXPECT_TRUE(idle->InactiveUntil(late));
  late.now += kInstant;
  EXPECT_FALSE(idle->InactiveUntil(late));
}

Trigger OnEngine() {
  Trigger trigger = OnLlm();
  trigger.metric = MetricType::kMemoryUsedPercent;
  trigger.preallocated_memory = PreallocatedMemory::kPressure;
  return trigger;
}

GpuPod Engine(double memory_used_percent) {
  GpuPod pod = LlmAt(0);
  pod.memory_used_percent = memory_used_percent;
  return pod;
}

TEST(IdleFastPath, PreallocatedMemoryStaysIdleWhileItsReadingsAreUnchanged) {
  FleetBuilder builder;
  builder.RepeatFor(kLong, {Node("gpu-1", {Engine(91), Other(70)})});
  auto idle = IdleOn(OnEngine(), builder.fleet());
  ASSERT_TRUE(idle.has_value());
  builder.Tick({Node("gpu-1", {Engine(91), Other(80)})});
  EXPECT_EQ(idle->InactiveUntil(builder.fleet()), builder.now() + kStaleness.stale_after);
  builder.Tick({Node("gpu-1", {Engine(91.5), Other(80)})});
  EXPECT_FALSE(idle->InactiveUntil(builder.fleet())) << "it may be another engine's";
}

TEST(IdleFastPath, WorkloadWithoutPodsStaysIdleWhateverItsFormerNodesShow) {
  FleetBuilder builder;
  builder.RepeatFor(kLong, {Node("gpu-1", {LlmAt(50), Other(70)})});
  builder.RepeatFor(kLong, {Node("gpu-1", {Other(70)})});
  auto idle = IdleOn(OnLlm(), builder.fleet());
  ASSERT_TRUE(idle.has_value());
  EXPECT_EQ(idle->InactiveUntil(builder.Tick({Node("gpu-1", {Other(90)})}).fleet()),
            absl::InfiniteFuture());
}

TEST(IdleFastPath, WorkloadReadByEnginesHasNone) {
  FleetBuilder builder;
  builder.RepeatFor(kLong, {Node("gpu-1", {Engine(91)})});
  SignalBuilder engines(builder.now());
  SignalSeries& engine = engines.RepeatFor("vllm", kLong, 0);
  engine.namespace_name = "team-a";
  engine.pod = "llm-a";
  const auto idle_with = [&](const SignalHistory& signals) {
    return IdleFastPath::Of(
        OnEngine(), builder.fleet(), kStaleness,
        Decide(OnEngine(), kOwnScaledObject, builder.fleet(), &signals, kStaleness));
  };
  EXPECT_FALSE(idle_with(engines.history())) << "readings of GPUs do not show its load";
  engine.pod = "another";
  EXPECT_TRUE(idle_with(engines.history()));
}

TEST(IdleFastPath, ActiveWorkloadHasNone) {
  FleetBuilder builder;
  builder.RepeatFor(kLong, {Node("gpu-1", {LlmAt(50)})});
  EXPECT_FALSE(IdleOn(OnLlm(), builder.fleet()));
}

void SetRandomPodRegex(Random& random, Trigger& trigger) {
  constexpr const char* kRegexes[] = {"llm-.*", ".*-1-1", "llm-1-.|x-2-.", "none"};
  trigger.workload.clear();
  trigger.pod_regex = std::make_shared<const RE2>(kRegexes[random.Whole(0, 3)]);
}

Trigger RandomIdleTrigger(Random& random) {
  Trigger trigger;
  if (!random.OneIn(4)) trigger.workload = "llm";
  if (random.OneIn(4)) SetRandomPodRegex(random, trigger);
  if (random.OneIn(4)) trigger.gpu_index = random.Whole(0, 3);
  constexpr MetricType kMetrics[] = {MetricType::kGpuUtilization, MetricType::kMemoryUsedPercent,
                                     MetricType::kPowerDraw};
  trigger.metric = kMetrics[random.OneIn(4) ? random.Whole(1, 2) : 0];
  trigger.activation_threshold = random.OneIn(2) ? 0 : random.Whole(1, 150);
  trigger.aggregation = static_cast<Aggregation>(random.Whole(0, 5));
  trigger.activation_window = absl::Seconds(random.Whole(0, 40));
  trigger.window = absl::Seconds(random.Whole(0, 30));
  trigger.warmup = absl::Seconds(random.OneIn(2) ? 0 : random.Whole(0, 20));
  trigger.preallocation_window = absl::Seconds(random.Whole(0, 40));
  trigger.preallocated_memory = static_cast<PreallocatedMemory>(random.Whole(0, 2));
  trigger.scale_in = static_cast<ScaleIn>(random.Whole(0, 1));
  return trigger;
}

// A node with a random history, as agents and kubelets produce it.
class RandomNode {
 public:
  RandomNode(Random& random, int number)
      : number_(number),
        has_groups_(random.OneIn(3)),
        has_shared_(random.OneIn(4)),
        change_(random.OneIn(2) ? 40 : 400),
        limits_{.horizon = absl::Seconds(random.Whole(60, 120)), .join_within = absl::Seconds(6)} {
    NewPods(random);
  }

  void Step(Random& random, absl::Time now) {
    Change(random, now);
    if (now < disconnected_until_) return;
    why_disconnected_ = random.OneIn(30) ? "connection refused" : "";
    const absl::Time at = std::max(now - random.Real(0, 1) * absl::Seconds(2), reported_until_);
    received_at_ = now;
    if (random.OneIn(3)) return Repeat(at);
    for (GpuPod& pod : pods_) NewLoad(random, pod);
    Read(random, at + absl::Milliseconds(1));
    if (random.OneIn(60)) Resend();
  }

  void AddTo(FleetHistory& fleet) const {
    if (history_.runs.empty()) return;
    fleet.nodes.push_back({.node = absl::StrCat("gpu-", number_),
                           .history = std::make_shared<const NodeHistory>(history_),
                           .received_at = received_at_,
                           .why_disconnected = why_disconnected_});
    fleet.queries_kubelets |= QueriesKubelet(fleet.nodes.back());
  }

 private:
  void Change(Random& random, absl::Time now) {
    if (random.OneIn(change_)) NewPods(random);
    if (random.OneIn(change_)) unknown_ = !unknown_;
    if (random.OneIn(60)) disconnected_until_ = now + absl::Seconds(random.Whole(1, 12));
    if (random.OneIn(40)) held_since_ = now;
    if (random.OneIn(40)) limits_.readings = absl::Seconds(random.Whole(20, 90));
    for (GpuPod& pod : pods_) {
      if (random.OneIn(3 * change_) && pod.ready) pod.ready = !*pod.ready;
      if (random.OneIn(3 * change_)) pod.loads.resize(3 - pod.loads.size());
    }
  }

  void NewPods(Random& random) {
    pods_.clear();
    for (int i = random.Whole(0, 3); i > 0; --i) {
      GpuPod pod = {.name = absl::StrCat("llm-", number_, "-", i), .owner = "llm"};
      if (random.OneIn(2)) pod = {.name = absl::StrCat("x-", number_, "-", i), .owner = "other"};
      if (has_groups_) pod.group = absl::StrCat(pod.owner, "-0");
      if (random.OneIn(2)) pod.ready = !random.OneIn(5);
      pod.loads.resize(static_cast<size_t>(random.Whole(1, 2)));
      pods_.push_back(std::move(pod));
    }
  }

  static void NewLoad(Random& random, GpuPod& pod) {
    const bool busy = pod.owner == "other" ? !random.OneIn(3) : random.OneIn(40);
    for (double& load : pod.loads) load = busy ? random.Whole(0, 100) : 0;
    if (random.OneIn(20)) pod.memory_used_percent = random.Whole(0, 99);
  }

  void Read(Random& random, absl::Time at) {
    NodeSnapshot snapshot = Node(absl::StrCat("gpu-", number_), pods_);
    for (GpuSample& gpu : snapshot.gpus.Own()) {
      gpu.held_since = held_since_;
      if (random.OneIn(100)) {
        gpu.utilization_percent.reset();
        gpu.gaps.push_back({GpuField::kUtilization, GpuGap::Reason::kFailed, "lost"});
      }
      if (has_shared_) gpu.holders.push_back({.pod = 0, .container = "too", .share = 0.5});
    }
    if (unknown_) snapshot = NodeWithoutOwners(std::move(snapshot), "no answer");
    snapshot.taken_at = at;
    memory_.Annotate(snapshot);
    reported_.push_back(snapshot);
    history_.Append(std::move(snapshot), limits_);
    reported_until_ = at;
  }

  void Repeat(absl::Time at) {
    if (history_.runs.empty() || at <= reported_until_) return;
    history_.Extend(at, limits_);
    reported_until_ = at;
  }

  // Resends half of the history: all readings before that are lost.
  void Resend() {
    history_ = NodeHistory();
    for (size_t i = reported_.size() / 2; i < reported_.size(); ++i)
      history_.Append(reported_[i], limits_);
  }

  const int number_;
  const bool has_groups_;
  const bool has_shared_;
  const int change_;  // average number of steps between changes
  NodeHistory::Limits limits_;
  std::vector<GpuPod> pods_;
  bool unknown_ = false;
  absl::Time held_since_ = absl::InfinitePast();
  absl::Time disconnected_until_ = absl::InfinitePast();
  absl::Time reported_until_ = absl::InfinitePast();
  absl::Time received_at_;
  std::string why_disconnected_;
  MemoryWatch memory_;
  std::vector<NodeSnapshot> reported_;
  NodeHistory history_;
};

// Random readings of engines in some pods, or in none.
class RandomEngines {
 public:
  RandomEngines(Random& random, absl::Time now) : are_read_(random.OneIn(2)), read_since_(now) {
    Update(random, now);
  }

  // Returns whether readings changed.
  bool Step(Random& random, absl::Time now) {
    if (!are_read_ || !random.OneIn(25)) return false;
    Update(random, now);
    return true;
  }

  const SignalHistory* history() const { return are_read_ ? &history_ : nullptr; }

 private:
  void Update(Random& random, absl::Time now) {
    history_ = {.now = now, .read_since = read_since_};
    if (random.OneIn(4)) history_.status = absl::UnavailableError("not known");
    for (int i = random.OneIn(2) ? 0 : random.Whole(1, 3); i > 0; --i) {
      SignalSeries engine{.name = absl::StrCat("vllm ", i), .namespace_name = "team-a"};
      engine.pod = absl::StrCat(random.OneIn(2) ? "llm-" : "x-", random.Whole(1, 3), "-", i);
      if (random.OneIn(3)) {
        engine.error = "connection refused";
        engine.points.push_back({.at = now});
      } else {
        engine.points.push_back({.at = now, .value = random.OneIn(2) ? 0 : random.Whole(1, 90)});
        engine.first_read_at = now;
      }
      history_.series.push_back(std::move(engine));
    }
  }

  const bool are_read_;
  const absl::Time read_since_;
  SignalHistory history_;
};

void ExpectIdle(const Decision& decision) {
  EXPECT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_FALSE(decision.active) << decision.active_because;
}

// Returns how often the fast path applied with at least one replica.
int ExpectDecisionsAgree(Trigger (*random_trigger)(Random&)) {
  int reused = 0;
  for (int seed = 0; seed < 400 / kPartOfSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Trigger trigger = random_trigger(random);
    const StalenessLimits staleness{.stale_after = absl::Seconds(6),
                                    .grace = absl::Seconds(random.Whole(1, 15)),
                                    .forget_after = absl::Seconds(random.Whole(16, 90))};
    std::vector<RandomNode> nodes;
    for (int i = random.Whole(1, 3); i > 0; --i) nodes.emplace_back(random, i);
    std::optional<IdleFastPath> idle;
    absl::Time now = absl::FromUnixSeconds(1'767'225'600);
    RandomEngines engines(random, now);
    for (int step = 0; step < 150 && !testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE(step);
      now += random.Real(0, 1) * absl::Seconds(3);
      FleetHistory fleet{.generation = step, .now = now};
      for (RandomNode& node : nodes) {
        node.Step(random, now);
        node.AddTo(fleet);
      }
      if (random.OneIn(3)) fleet.valid_until = now + absl::Seconds(random.Whole(0, 8));
      if (engines.Step(random, now)) idle.reset();
      const SignalHistory* const observed = engines.history();
      const auto until = idle ? idle->InactiveUntil(fleet) : std::nullopt;
      const Decision decision = Decide(trigger, kOwnScaledObject, fleet, observed, staleness);
      if (!until) {
        idle = IdleFastPath::Of(trigger, fleet, staleness, decision);
        continue;
      }
      reused += decision.replicas > 0 ? 1 : 0;
      EXPECT_LE(*until, fleet.valid_until);
      ExpectIdle(decision);
      for (FleetHistory later = fleet; const double part : {0.5, 1.0}) {
        const absl::Time last = std::min(*until - kInstant, now + absl::Hours(1));
        later.now = now + part * (last - now);
        ExpectIdle(Decide(trigger, kOwnScaledObject, later, observed, staleness));
      }
    }
  }
  return reused;
}

TEST(IdleFastPathProperty, DecisionsAgreeWhileItHolds) {
  EXPECT_GT(ExpectDecisionsAgree(RandomIdleTrigger), 1'000 / kPartOfSeeds)
      << "a test in which all is decided again shows nothing";
}

TEST(IdleFastPathProperty, DecisionsAgreeForPreallocatedMemory) {
  const auto random_trigger = [](Random& random) {
    Trigger trigger = RandomIdleTrigger(random);
    trigger.metric = MetricType::kMemoryUsedPercent;
    trigger.preallocated_memory =
        random.OneIn(2) ? PreallocatedMemory::kPressure : PreallocatedMemory::kActivity;
    return trigger;
  };
  EXPECT_GT(ExpectDecisionsAgree(random_trigger), kHasSanitizer ? 50 : 400)
      << "a test in which all is decided again shows nothing";
}

}  // namespace
}  // namespace gpuscaler
