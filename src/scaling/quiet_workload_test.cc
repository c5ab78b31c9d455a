#include "scaling/quiet_workload.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "scaling/dice.h"
#include "scaling/fleet_builder.h"
#include "scaling/signal_builder.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {
namespace {

const Asker kOwnAsker{.namespace_name = "team-a", .name = "scaler"};
constexpr absl::Duration kInstant = absl::Nanoseconds(1);

Trigger OnLlm() {
  Trigger trigger;
  trigger.workload = "llm";
  return trigger;
}

std::optional<QuietWorkload> QuietOn(const Trigger& trigger, const FleetHistory& fleet) {
  return QuietWorkload::Of(trigger, fleet, kPatience, Decide(trigger, kOwnAsker, fleet, kPatience));
}

HeldPod LlmAt(double load) { return {.name = "llm-a", .owner = "llm", .loads = {load}}; }
HeldPod Other(double load) { return {.name = "x", .owner = "other", .loads = {load}}; }

TEST(QuietWorkload, LoadOfOthersDoesNotWakeIt) {
  FleetBuilder builder;
  builder.Hold(kLong, {Node("gpu-1", {LlmAt(0), Other(70)})});
  auto quiet = QuietOn(OnLlm(), builder.fleet());
  ASSERT_TRUE(quiet.has_value());
  for (const double load : {90, 10, 100}) {
    builder.Tick({Node("gpu-1", {LlmAt(0), Other(load)})});
    EXPECT_EQ(quiet->StandsOn(builder.fleet()), builder.now() + kPatience.stale_after);
  }
}

TEST(QuietWorkload, ItsOwnLoadDoes) {
  Trigger trigger = OnLlm();
  trigger.activation_threshold = 5;
  FleetBuilder builder;
  builder.Hold(kLong, {Node("gpu-1", {LlmAt(0)})});
  auto quiet = QuietOn(trigger, builder.fleet());
  ASSERT_TRUE(quiet.has_value());
  EXPECT_TRUE(quiet->StandsOn(builder.Tick({Node("gpu-1", {LlmAt(5)})}).fleet()));
  EXPECT_FALSE(quiet->StandsOn(builder.Tick({Node("gpu-1", {LlmAt(5.1)})}).fleet()));
}

TEST(QuietWorkload, ReadingBetweenTwoLooksIsSeen) {
  FleetBuilder builder;
  builder.Hold(kLong, {Node("gpu-1", {LlmAt(0)})});
  auto quiet = QuietOn(OnLlm(), builder.fleet());
  ASSERT_TRUE(quiet.has_value());
  builder.Tick({Node("gpu-1", {LlmAt(30)})}).Tick({Node("gpu-1", {LlmAt(0)})});
  EXPECT_FALSE(quiet->StandsOn(builder.fleet()));
}

TEST(QuietWorkload, AnotherPodWakesIt) {
  FleetBuilder builder;
  builder.Hold(kLong, {Node("gpu-1", {LlmAt(0)})});
  auto quiet = QuietOn(OnLlm(), builder.fleet());
  ASSERT_TRUE(quiet.has_value());
  EXPECT_FALSE(quiet->StandsOn(builder.Tick({Node("gpu-1", {LlmAt(0), Other(0)})}).fleet()));
}

TEST(QuietWorkload, SilenceWakesIt) {
  FleetBuilder builder;
  builder.Hold(kLong, {Node("gpu-1", {LlmAt(0)})});
  auto quiet = QuietOn(OnLlm(), builder.fleet());
  ASSERT_TRUE(quiet.has_value());
  FleetHistory late = builder.fleet();
  late.now += kPatience.stale_after;
  EXPECT_TRUE(quiet->StandsOn(late));
  late.now += kInstant;
  EXPECT_FALSE(quiet->StandsOn(late));
}

Trigger OnEngine() {
  Trigger trigger = OnLlm();
  trigger.metric = MetricType::kMemoryUsedPercent;
  trigger.standing_memory = StandingMemory::kPressure;
  return trigger;
}

HeldPod Engine(double memory_used_percent) {
  HeldPod pod = LlmAt(0);
  pod.memory_used_percent = memory_used_percent;
  return pod;
}

TEST(QuietWorkload, EngineWithStandingMemorySleepsWhileItsOwnGpusShowTheSame) {
  FleetBuilder builder;
  builder.Hold(kLong, {Node("gpu-1", {Engine(91), Other(70)})});
  auto quiet = QuietOn(OnEngine(), builder.fleet());
  ASSERT_TRUE(quiet.has_value());
  builder.Tick({Node("gpu-1", {Engine(91), Other(80)})});
  EXPECT_EQ(quiet->StandsOn(builder.fleet()), builder.now() + kPatience.stale_after);
  builder.Tick({Node("gpu-1", {Engine(91.5), Other(80)})});
  EXPECT_FALSE(quiet->StandsOn(builder.fleet())) << "it may be another engine's";
}

TEST(QuietWorkload, OneWithoutPodsSleepsWhateverTheNodesShowThatItWasOn) {
  FleetBuilder builder;
  builder.Hold(kLong, {Node("gpu-1", {LlmAt(50), Other(70)})});
  builder.Hold(kLong, {Node("gpu-1", {Other(70)})});
  auto quiet = QuietOn(OnLlm(), builder.fleet());
  ASSERT_TRUE(quiet.has_value());
  EXPECT_EQ(quiet->StandsOn(builder.Tick({Node("gpu-1", {Other(90)})}).fleet()),
            absl::InfiniteFuture());
}

TEST(QuietWorkload, OneWhoseEnginesSpeakIsNone) {
  FleetBuilder builder;
  builder.Hold(kLong, {Node("gpu-1", {Engine(91)})});
  SignalBuilder engines(builder.now());
  SignalSeries& engine = engines.Hold("vllm", kLong, 0);
  engine.namespace_name = "team-a";
  engine.pod = "llm-a";
  const auto quiet_with = [&](const SignalHistory& signals) {
    return QuietWorkload::Of(OnEngine(), builder.fleet(), kPatience,
                             Decide(OnEngine(), kOwnAsker, builder.fleet(), &signals, kPatience));
  };
  EXPECT_FALSE(quiet_with(engines.history())) << "what GPUs show says nothing of its load";
  engine.pod = "another";
  EXPECT_TRUE(quiet_with(engines.history()));
}

TEST(QuietWorkload, ActiveOneIsNone) {
  FleetBuilder builder;
  builder.Hold(kLong, {Node("gpu-1", {LlmAt(50)})});
  EXPECT_FALSE(QuietOn(OnLlm(), builder.fleet()));
}

bool OnceIn(int n, Dice& dice) { return dice.Whole(1, n) == 1; }

void NamePodsByChance(Dice& dice, Trigger& trigger) {
  constexpr const char* kRegexes[] = {"llm-.*", ".*-1-1", "llm-1-.|x-2-.", "none"};
  trigger.workload.clear();
  trigger.pod_regex = std::make_shared<const RE2>(kRegexes[dice.Whole(0, 3)]);
}

Trigger QuietTriggerByChance(Dice& dice) {
  Trigger trigger;
  if (!OnceIn(4, dice)) trigger.workload = "llm";
  if (OnceIn(4, dice)) NamePodsByChance(dice, trigger);
  if (OnceIn(4, dice)) trigger.gpu_index = dice.Whole(0, 3);
  constexpr MetricType kMetrics[] = {MetricType::kGpuUtilization, MetricType::kMemoryUsedPercent,
                                     MetricType::kPowerDraw};
  trigger.metric = kMetrics[OnceIn(4, dice) ? dice.Whole(1, 2) : 0];
  trigger.activation_threshold = OnceIn(2, dice) ? 0 : dice.Whole(1, 150);
  trigger.aggregation = static_cast<Aggregation>(dice.Whole(0, 5));
  trigger.activation_window = absl::Seconds(dice.Whole(0, 40));
  trigger.window = absl::Seconds(dice.Whole(0, 30));
  trigger.warmup = absl::Seconds(OnceIn(2, dice) ? 0 : dice.Whole(0, 20));
  trigger.preallocation_window = absl::Seconds(dice.Whole(0, 40));
  trigger.standing_memory = static_cast<StandingMemory>(dice.Whole(0, 2));
  trigger.scale_in = static_cast<ScaleIn>(dice.Whole(0, 1));
  return trigger;
}

// A node with an agent that does what agents do, and a kubelet too.
class NodeOfChance {
 public:
  NodeOfChance(Dice& dice, int number)
      : number_(number),
        has_groups_(OnceIn(3, dice)),
        has_shared_(OnceIn(4, dice)),
        change_(OnceIn(2, dice) ? 40 : 400),
        limits_{.horizon = absl::Seconds(dice.Whole(60, 120)), .join_within = absl::Seconds(6)} {
    NewPods(dice);
  }

  void Step(Dice& dice, absl::Time now) {
    Change(dice, now);
    if (now < silent_until_) return;
    silence_ = OnceIn(30, dice) ? "connection refused" : "";
    const absl::Time at = std::max(now - dice.Real(0, 1) * absl::Seconds(2), told_until_);
    heard_at_ = now;
    if (OnceIn(3, dice)) return Repeat(at);
    for (HeldPod& pod : pods_) NewLoad(dice, pod);
    Read(dice, at + absl::Milliseconds(1));
    if (OnceIn(60, dice)) TellAgain();
  }

  void AddTo(FleetHistory& fleet) const {
    if (history_.stretches.empty()) return;
    fleet.nodes.push_back({.node = absl::StrCat("gpu-", number_),
                           .history = std::make_shared<const NodeHistory>(history_),
                           .heard_at = heard_at_,
                           .silence = silence_});
    fleet.asks_kubelets |= AsksKubelet(fleet.nodes.back());
  }

 private:
  void Change(Dice& dice, absl::Time now) {
    if (OnceIn(change_, dice)) NewPods(dice);
    if (OnceIn(change_, dice)) unknown_ = !unknown_;
    if (OnceIn(60, dice)) silent_until_ = now + absl::Seconds(dice.Whole(1, 12));
    if (OnceIn(40, dice)) held_since_ = now;
    if (OnceIn(40, dice)) limits_.readings = absl::Seconds(dice.Whole(20, 90));
    for (HeldPod& pod : pods_) {
      if (OnceIn(3 * change_, dice) && pod.ready) pod.ready = !*pod.ready;
      if (OnceIn(3 * change_, dice)) pod.loads.resize(3 - pod.loads.size());
    }
  }

  void NewPods(Dice& dice) {
    pods_.clear();
    for (int i = dice.Whole(0, 3); i > 0; --i) {
      HeldPod pod = {.name = absl::StrCat("llm-", number_, "-", i), .owner = "llm"};
      if (OnceIn(2, dice)) pod = {.name = absl::StrCat("x-", number_, "-", i), .owner = "other"};
      if (has_groups_) pod.group = absl::StrCat(pod.owner, "-0");
      if (OnceIn(2, dice)) pod.ready = !OnceIn(5, dice);
      pod.loads.resize(static_cast<size_t>(dice.Whole(1, 2)));
      pods_.push_back(std::move(pod));
    }
  }

  static void NewLoad(Dice& dice, HeldPod& pod) {
    const bool busy = pod.owner == "other" ? !OnceIn(3, dice) : OnceIn(40, dice);
    for (double& load : pod.loads) load = busy ? dice.Whole(0, 100) : 0;
    if (OnceIn(20, dice)) pod.memory_used_percent = dice.Whole(0, 99);
  }

  void Read(Dice& dice, absl::Time at) {
    NodeSnapshot snapshot = Node(absl::StrCat("gpu-", number_), pods_);
    for (GpuSample& gpu : snapshot.gpus) {
      gpu.held_since = held_since_;
      if (OnceIn(100, dice)) {
        gpu.utilization_percent.reset();
        gpu.gaps.push_back({GpuField::kUtilization, GpuGap::Reason::kFailed, "lost"});
      }
      if (has_shared_) gpu.holders.push_back({.pod = 0, .container = "too", .share = 0.5});
    }
    if (unknown_) snapshot = UnownedNode(std::move(snapshot), "no answer");
    snapshot.taken_at = at;
    memory_.Annotate(snapshot);
    told_.push_back(snapshot);
    history_.Append(std::move(snapshot), limits_);
    told_until_ = at;
  }

  void Repeat(absl::Time at) {
    if (history_.stretches.empty() || at <= told_until_) return;
    history_.Extend(at, limits_);
    told_until_ = at;
  }

  // All of its past, which comes out otherwise.
  void TellAgain() {
    history_ = NodeHistory();
    for (size_t i = told_.size() / 2; i < told_.size(); ++i) history_.Append(told_[i], limits_);
  }

  const int number_;
  const bool has_groups_;
  const bool has_shared_;
  const int change_;  // in so many steps
  NodeHistory::Limits limits_;
  std::vector<HeldPod> pods_;
  bool unknown_ = false;
  absl::Time held_since_ = absl::InfinitePast();
  absl::Time silent_until_ = absl::InfinitePast();
  absl::Time told_until_ = absl::InfinitePast();
  absl::Time heard_at_;
  std::string silence_;
  MemoryWatch memory_;
  std::vector<NodeSnapshot> told_;
  NodeHistory history_;
};

// What engines of some pods, or of none, have said.
class EnginesOfChance {
 public:
  EnginesOfChance(Dice& dice, absl::Time now) : are_read_(OnceIn(2, dice)), read_since_(now) {
    Say(dice, now);
  }

  // True: something else.
  bool Step(Dice& dice, absl::Time now) {
    if (!are_read_ || !OnceIn(25, dice)) return false;
    Say(dice, now);
    return true;
  }

  const SignalHistory* history() const { return are_read_ ? &history_ : nullptr; }

 private:
  void Say(Dice& dice, absl::Time now) {
    history_ = {.now = now, .read_since = read_since_};
    if (OnceIn(4, dice)) history_.status = absl::UnavailableError("not known");
    for (int i = OnceIn(2, dice) ? 0 : dice.Whole(1, 3); i > 0; --i) {
      SignalSeries engine{.name = absl::StrCat("vllm ", i), .namespace_name = "team-a"};
      engine.pod = absl::StrCat(OnceIn(2, dice) ? "llm-" : "x-", dice.Whole(1, 3), "-", i);
      if (OnceIn(3, dice)) {
        engine.gap = "connection refused";
        engine.points.push_back({.at = now});
      } else {
        engine.points.push_back({.at = now, .value = OnceIn(2, dice) ? 0 : dice.Whole(1, 90)});
        engine.answers_since = now;
      }
      history_.series.push_back(std::move(engine));
    }
  }

  const bool are_read_;
  const absl::Time read_since_;
  SignalHistory history_;
};

void ExpectQuiet(const Decision& decision) {
  EXPECT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_FALSE(decision.active) << decision.active_because;
}

// How often it stood where there is a replica.
int ExpectWhatStandsToBeDecidedSo(Trigger (*trigger_by_chance)(Dice&)) {
  int stood = 0;
  for (int seed = 0; seed < 400 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Trigger trigger = trigger_by_chance(dice);
    const Patience patience{.stale_after = absl::Seconds(6),
                            .grace = absl::Seconds(dice.Whole(1, 15)),
                            .forget_after = absl::Seconds(dice.Whole(16, 90))};
    std::vector<NodeOfChance> nodes;
    for (int i = dice.Whole(1, 3); i > 0; --i) nodes.emplace_back(dice, i);
    std::optional<QuietWorkload> quiet;
    absl::Time now = absl::FromUnixSeconds(1'767'225'600);
    EnginesOfChance engines(dice, now);
    for (int step = 0; step < 150 && !testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE(step);
      now += dice.Real(0, 1) * absl::Seconds(3);
      FleetHistory fleet{.generation = step, .now = now};
      for (NodeOfChance& node : nodes) {
        node.Step(dice, now);
        node.AddTo(fleet);
      }
      if (OnceIn(3, dice)) fleet.stands_until = now + absl::Seconds(dice.Whole(0, 8));
      if (engines.Step(dice, now)) quiet.reset();
      const SignalHistory* const said = engines.history();
      const auto until = quiet ? quiet->StandsOn(fleet) : std::nullopt;
      const Decision decision = Decide(trigger, kOwnAsker, fleet, said, patience);
      if (!until) {
        quiet = QuietWorkload::Of(trigger, fleet, patience, decision);
        continue;
      }
      stood += decision.replicas > 0 ? 1 : 0;
      EXPECT_LE(*until, fleet.stands_until);
      ExpectQuiet(decision);
      for (FleetHistory later = fleet; const double part : {0.5, 1.0}) {
        const absl::Time last = std::min(*until - kInstant, now + absl::Hours(1));
        later.now = now + part * (last - now);
        ExpectQuiet(Decide(trigger, kOwnAsker, later, said, patience));
      }
    }
  }
  return stood;
}

TEST(QuietWorkloadProperty, WhatStandsWouldBeDecidedSo) {
  EXPECT_GT(ExpectWhatStandsToBeDecidedSo(QuietTriggerByChance), 1'000)
      << "what is always decided anew is always right";
}

TEST(QuietWorkloadProperty, OfStandingMemoryToo) {
  const auto trigger_by_chance = [](Dice& dice) {
    Trigger trigger = QuietTriggerByChance(dice);
    trigger.metric = MetricType::kMemoryUsedPercent;
    trigger.standing_memory =
        OnceIn(2, dice) ? StandingMemory::kPressure : StandingMemory::kActivity;
    return trigger;
  };
  EXPECT_GT(ExpectWhatStandsToBeDecidedSo(trigger_by_chance), 400)
      << "what is always decided anew is always right";
}

}  // namespace
}  // namespace gpuscaler
