#include "scaling/frozen_engine.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_engine_workload_builder.h"

namespace gpuscaler {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kStalledFor = absl::Minutes(6);  // longer than frozenWindow

TEST(FrozenEngine, FrozenRequestsOnIdleGpusCountAsNone) {
  const auto stalled_for = [](absl::Duration duration, double gpu_load) {
    EngineWorkloadBuilder llm({{"llm-a"}}, gpu_load);
    llm.EngineIn("llm-a", 40).unchanged_since = llm.now() - duration;
    return llm;
  };
  const Decision decision = stalled_for(absl::Minutes(6), 0).Decide(InFlight());
  EXPECT_EQ(decision.value, 0);
  EXPECT_FALSE(decision.active) << decision.active_because;
  EXPECT_EQ(decision.frozen, 1);
  EXPECT_THAT(decision.notes, Contains(HasSubstr("frozen")));

  const EngineWorkloadBuilder early = stalled_for(absl::Minutes(4), 0);
  EXPECT_EQ(early.Decide(InFlight()).value, 40) << "not for long enough";
  EXPECT_LE(early.Decide(InFlight()).active_until, early.now() + absl::Minutes(1));
  EXPECT_EQ(stalled_for(absl::Minutes(6), 3).Decide(InFlight()).value, 40) << "its GPU works";
}

// Either of the two pods may be at either address.
TEST(FrozenEngine, FrozenRequestsAtAddressesOfNoKnownPodCountAsNoneOnceAllTheirGpusAreIdle) {
  const auto decide = [](double load_of_a, double load_of_b) {
    EngineWorkloadBuilder llm(FleetBuilder().RepeatFor(
        absl::Minutes(12),
        {Node("n-a", {LlmPod("llm-a", load_of_a)}), Node("n-b", {LlmPod("llm-b", load_of_b)})}));
    for (const char* address : {"10.0.0.7", "10.0.0.8"}) {
      llm.EngineAt(address, 40).unchanged_since = llm.now() - absl::Minutes(6);
    }
    return llm.Decide(Named(InFlight()));
  };
  const Decision idle = decide(0, 0);
  EXPECT_EQ(idle.value, 0);
  EXPECT_FALSE(idle.active) << idle.active_because;
  EXPECT_EQ(idle.frozen, 2);
  EXPECT_EQ(decide(0, 3).value, 80) << "either may be the one that works";
}

// Readings alternate, so that each is a run of its own.
void HoldPod(FleetBuilder& nodes, absl::Duration duration, double gpu_load) {
  const int ticks = static_cast<int>(duration / kTick);
  for (int i = 0; i < ticks; ++i) {
    NodeSnapshot node = Node("n", {LlmPod("llm-a", gpu_load)});
    node.gpus[0].power_watts = 100 + i % 2;
    nodes.Tick({node});
  }
}

// A workload that was scaled to zero while its engine reported requests.
struct ScaledToZero {
  absl::Duration ago = absl::Seconds(20);
  double gpu_load = 0;
  absl::Duration stalled_for = kStalledFor;  // when it was last read
  std::string address;  // that of an engine without a known pod; empty: the pod is known
};

Decision DecideScaledToZero(const Trigger& trigger, const ScaledToZero& scaled) {
  FleetBuilder nodes;
  HoldPod(nodes, absl::Minutes(12), scaled.gpu_load);
  nodes.RepeatFor(scaled.ago, {Node("n", {})});
  EngineWorkloadBuilder llm(nodes);
  SignalSeries& engine =
      scaled.address.empty() ? llm.EngineIn("llm-a", 40) : llm.EngineAt(scaled.address, 40);
  engine.unchanged_since = llm.now() - scaled.ago - scaled.stalled_for;
  llm.Unlist(engine.name, scaled.ago);
  return llm.Decide(trigger);
}

TEST(FrozenEngine, DepartedFrozenEngineDoesNotActivateItsWorkload) {
  for (const absl::Duration ago : {absl::Seconds(2), absl::Seconds(20), absl::Seconds(50)}) {
    for (const Trigger& trigger : {InFlight(), VllmInference()}) {
      const Decision decision = DecideScaledToZero(trigger, {.ago = ago});
      ASSERT_TRUE(decision.status.ok()) << decision.status;
      EXPECT_FALSE(decision.active) << ago << ": " << decision.active_because;
    }
    const Decision unmatched =
        DecideScaledToZero(Named(InFlight()), {.ago = ago, .address = "10.1.0.7"});
    EXPECT_FALSE(unmatched.active) << ago << ": " << unmatched.active_because;
  }
}

TEST(FrozenEngine, EngineThatLeftBeforeItFrozeKeepsItsWorkloadActive) {
  EXPECT_TRUE(DecideScaledToZero(InFlight(), {.stalled_for = absl::Minutes(4)}).active);
  EXPECT_TRUE(
      DecideScaledToZero(InFlight(), {.ago = absl::Seconds(50), .stalled_for = absl::Seconds(270)})
          .active)
      << "the time after it left does not count";
  EXPECT_TRUE(DecideScaledToZero(InFlight(), {.gpu_load = 3}).active) << "its GPU worked";
  const ScaledToZero of_busy = {.gpu_load = 3, .address = "10.1.0.7"};
  EXPECT_TRUE(DecideScaledToZero(Named(InFlight()), of_busy).active) << "its GPU worked";
}

// A pod of a StatefulSet: the next one has its name, and is busy.
TEST(FrozenEngine, DepartedEngineIsEvaluatedByTheGpusOfItsOwnTime) {
  FleetBuilder nodes;
  HoldPod(nodes, absl::Minutes(12), 0);
  nodes.RepeatFor(absl::Seconds(10), {Node("n", {})});
  NodeSnapshot next = Node("n", {LlmPod("llm-a", 90)});
  next.pods[0].uid = "another";
  nodes.RepeatFor(absl::Seconds(20), {next});
  EngineWorkloadBuilder llm(nodes);
  llm.EngineIn("llm-a", 40).unchanged_since = llm.now() - kStalledFor;
  llm.Unlist("vllm at llm-a", absl::Seconds(30));
  llm.EngineIn("llm-a", 0, absl::Seconds(20));
  const Decision decision = llm.Decide(InFlight());
  EXPECT_THAT(decision.active_because, Not(HasSubstr("was at 40"))) << decision.active_because;
}

// No kubelet is queried for the holders of GPUs.
class FrozenWithoutOwners : public testing::Test {
 protected:
  FrozenWithoutOwners() { gpus_.RepeatFor(absl::Minutes(12), {BusyGpu(0, 0, 90)}); }

  Decision DecideOn(const Trigger& trigger, absl::Duration stalled_for = kStalledFor) {
    SignalBuilder engines(gpus_.now());
    SignalSeries& engine = engines.RepeatFor("vllm at 10.1.0.7", absl::Minutes(12), 8);
    engine.address = "10.1.0.7";
    engine.unchanged_since = gpus_.now() - stalled_for;
    return DecideOn(trigger, engines);
  }
  Decision DecideOn(const Trigger& trigger, const SignalBuilder& engines) const {
    FleetHistory fleet = gpus_.fleet();
    fleet.nodes[0].why_disconnected = why_disconnected_;
    fleet.nodes[0].received_at = gpus_.now() - absl::Minutes(1);
    return Decide(trigger, {.namespace_name = "team-a", .name = "llm"}, fleet, &engines.history(),
                  kStaleness);
  }

  HistoryBuilder gpus_;
  std::string why_disconnected_;
};

TEST_F(FrozenWithoutOwners, RequestsCountAsNoneOnceAllGpusInUseAreIdle) {
  for (const Trigger& trigger : {InFlight(), Named(InFlight()), VllmInference()}) {
    const Decision decision = DecideOn(trigger);
    ASSERT_TRUE(decision.status.ok()) << decision.status;
    EXPECT_EQ(decision.value, 0);
    EXPECT_FALSE(decision.active) << decision.active_because;
    EXPECT_EQ(decision.frozen, 1);
    EXPECT_EQ(decision.replicas, 1) << "the engine is";
  }
  gpus_.RepeatFor(absl::Seconds(4), {BusyGpu(0, 0, 90), BusyGpu(1, 3, 90)});
  EXPECT_EQ(DecideOn(InFlight()).value, 8) << "the other one may be its";
}

TEST_F(FrozenWithoutOwners, EvidenceEndsWhenRequestsFreeze) {
  const Decision early = DecideOn(InFlight(), absl::Seconds(280));
  EXPECT_EQ(early.value, 8) << "not for long enough";
  EXPECT_EQ(early.evidence_until, gpus_.now() + absl::Seconds(20));

  gpus_.RepeatFor(kTick, {BusyGpu(0, 3, 90)}).RepeatFor(absl::Seconds(20), {BusyGpu(0, 0, 90)});
  const Decision worked = DecideOn(InFlight());
  EXPECT_EQ(worked.value, 8) << "its GPU worked just now";
  EXPECT_EQ(worked.evidence_until, gpus_.now() + absl::Seconds(40));
}

TEST_F(FrozenWithoutOwners, UnknownGpusFreezeNothing) {
  Trigger trigger = InFlight();
  trigger.scope = Scope::kFleet;
  EXPECT_EQ(DecideOn(trigger).value, 8) << "GPUs are not looked at";
  trigger.scope = Scope::kWorkload;
  trigger.gpu_index = 7;
  EXPECT_EQ(DecideOn(trigger).value, 8) << "no node has it";
  why_disconnected_ = "connection refused";
  EXPECT_EQ(DecideOn(InFlight()).value, 8) << "its node is disconnected";
  why_disconnected_.clear();
  gpus_.RepeatFor(absl::Seconds(10), {LostGpu(0)});
  EXPECT_EQ(DecideOn(InFlight()).value, 8) << "it cannot be read";
}

// Another engine is in its place, and on its GPU.
TEST_F(FrozenWithoutOwners, DepartedEngineKeepsNothingActive) {
  gpus_.RepeatFor(absl::Seconds(20), {BusyGpu(0, 90, 90)});
  SignalBuilder engines(gpus_.now());
  SignalSeries& left = engines.RepeatFor("vllm at 10.1.0.7", absl::Minutes(12), 8);
  left.address = "10.1.0.7";
  left.unchanged_since = gpus_.now() - kStalledFor;
  engines.Unlist("vllm at 10.1.0.7", absl::Seconds(22));
  engines.RepeatFor("vllm at 10.1.0.8", absl::Minutes(12), 0).address = "10.1.0.8";
  for (const Trigger& trigger : {InFlight(), VllmInference()}) {
    const Decision decision = DecideOn(trigger, engines);
    ASSERT_TRUE(decision.status.ok()) << decision.status;
    EXPECT_FALSE(decision.active) << decision.active_because;
  }
}

}  // namespace
}  // namespace gpuscaler
