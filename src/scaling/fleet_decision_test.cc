// What a fleet's nodes, the owners of their GPUs and the silence of their agents make of a
// decision.
#include <re2/re2.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/fleet_builder.h"
#include "scaling/test_triggers.h"

namespace gpuscaler {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using State = ReplicaShare::State;

const Asker kLlm{.namespace_name = "team-a", .name = "llm"};

Trigger Of(const char* workload, const char* kind = "") {
  Trigger trigger = Utilization();
  trigger.workload = workload;
  trigger.workload_kind = kind;
  return trigger;
}

Decision On(const Trigger& trigger, const FleetBuilder& fleet, const Asker& asker = kLlm) {
  return Decide(trigger, asker, fleet.fleet(), kPatience);
}

Decision Steady(const Trigger& trigger, const std::vector<NodeSnapshot>& nodes,
                const Asker& asker = kLlm) {
  return On(trigger, FleetBuilder().Hold(kLong, nodes), asker);
}

std::string MessageOf(const Decision& decision) { return std::string(decision.status.message()); }

std::vector<std::string> NamesOf(const Decision& decision) {
  std::vector<std::string> names;
  for (const ReplicaShare& share : decision.shares) names.push_back(share.name);
  return names;
}

HeldPod Llm(const char* name, double load) {
  return {.name = name, .owner = "llm", .loads = {load}};
}

TEST(FleetDecision, ValueIsTheSumOverTheWorkloadsPodsOnAllNodes) {
  const Decision decision = Steady(
      Of("llm"), {Node("gpu-1", {Llm("llm-a", 90), {.name = "x", .owner = "x", .loads = {100}}}),
                  Node("gpu-2", {Llm("llm-b", 50)})});
  EXPECT_EQ(decision.value, 140) << Explain(Of("llm"), decision);
  EXPECT_EQ(decision.replicas, 2);
  EXPECT_EQ(decision.replicas_from, "pods of Deployment/llm");
  EXPECT_THAT(NamesOf(decision), ElementsAre("llm-a", "llm-b"));
  EXPECT_FALSE(decision.partial);
}

TEST(FleetDecision, NamespacesAreWalls) {
  const std::vector<NodeSnapshot> nodes = {Node(
      "gpu-1", {Llm("llm-a", 90),
                {.name = "llm-b", .owner = "llm", .loads = {30}, .namespace_name = "team-b"}})};
  EXPECT_EQ(Steady(Utilization(), nodes).value, 90);
  EXPECT_EQ(Steady(Utilization(), nodes, {.namespace_name = "team-b", .name = "llm"}).value, 30);
  EXPECT_EQ(Steady(Utilization(), nodes, {.namespace_name = "team-c", .name = "llm"}).value, 0);
  const Asker opened{.namespace_name = "team-c", .name = "llm", .opened = {"team-b"}};
  const Decision decision = Steady(Utilization(), nodes, opened);
  EXPECT_EQ(decision.value, 30);
  EXPECT_THAT(NamesOf(decision), ElementsAre("team-b/llm-b"));
}

TEST(FleetDecision, SeveralOwnersAreAnErrorUntilOneIsNamed) {
  const std::vector<NodeSnapshot> nodes = {
      Node("gpu-1", {Llm("llm-a", 90), {.name = "embed-a", .owner = "embed", .loads = {30}}})};
  const Asker asker{.namespace_name = "team-a", .name = "scaler"};
  const Decision decision = Steady(Utilization(), nodes, asker);
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(MessageOf(decision), HasSubstr("Deployment/embed, Deployment/llm"));
  EXPECT_EQ(Steady(Of("embed"), nodes, asker).value, 30);
  EXPECT_EQ(Steady(Utilization(), nodes).value, 90) << "named like the ScaledObject";
  Trigger regex = Utilization();
  regex.pod_regex = std::make_shared<const re2::RE2>("embed-.");
  EXPECT_EQ(Steady(regex, nodes, asker).value, 30);
}

TEST(FleetDecision, StrangerDoesNotWakeAWorkloadThatWasSeen) {
  const HeldPod stranger{.name = "x-a", .owner = "x", .loads = {100}};
  FleetBuilder fleet;
  fleet.Hold(kLong, {Node("gpu-1", {Llm("llm-a", 0)}), Node("gpu-2", {})});
  fleet.Hold(kLong, {Node("gpu-1", {}), Node("gpu-2", {stranger})});
  const Decision decision = On(Utilization(), fleet);
  EXPECT_FALSE(decision.active) << decision.active_because;
  EXPECT_EQ(decision.value, 0);
  EXPECT_EQ(decision.replicas_from, "pods of Deployment/llm");
  EXPECT_THAT(decision.notes, IsEmpty());
}

TEST(FleetDecision, StrangerThatIsTakenForTheWorkloadIsNamed) {
  const Decision decision =
      Steady(Utilization(), {Node("gpu-1", {{.name = "x-a", .owner = "x", .loads = {100}}})});
  EXPECT_TRUE(decision.active);
  EXPECT_THAT(decision.notes,
              ElementsAre(HasSubstr("counts pods of Deployment/x, the only owner")));
}

TEST(FleetDecision, NoPodsAreNoReplicasAndNoError) {
  const Decision decision =
      Steady(Of("llm"), {Node("gpu-1", {{.name = "x", .owner = "x", .loads = {100}}})});
  EXPECT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 0);
  EXPECT_EQ(decision.replicas, 0);
  EXPECT_FALSE(decision.active);
  EXPECT_EQ(decision.replicas_from, "pods of llm");
  EXPECT_THAT(decision.shares, IsEmpty());
}

TEST(FleetDecision, IdlePodIsAReplicaAllTheSame) {
  const Decision decision = Steady(Of("llm"), {Node("gpu-1", {Llm("llm-a", 0), Llm("llm-b", 60)})});
  EXPECT_EQ(decision.replicas, 2);
  EXPECT_EQ(decision.value, 60);
}

TEST(FleetDecision, PodOfSeveralGpusIsOneReplica) {
  Trigger trigger = Of("llm");
  const std::vector<NodeSnapshot> nodes = {
      Node("gpu-1", {{.name = "llm-a", .owner = "llm", .loads = {90, 50}}, Llm("llm-b", 10)})};
  EXPECT_EQ(Steady(trigger, nodes).value, 100);
  trigger.aggregation = Aggregation::kAvg;
  EXPECT_EQ(Steady(trigger, nodes).value, 80);
  EXPECT_EQ(Steady(trigger, nodes).replicas, 2);
}

TEST(FleetDecision, GroupIsOneReplicaOverAllItsNodes) {
  const auto pod = [](const char* name, const char* group, double load) {
    return HeldPod{.name = name, .owner = "LeaderWorkerSet/llm", .loads = {load}, .group = group};
  };
  Trigger trigger = Of("llm");
  const std::vector<NodeSnapshot> nodes = {
      Node("gpu-1", {pod("llm-0", "llm-0", 90), pod("llm-1-1", "llm-1", 20)}),
      Node("gpu-2", {pod("llm-0-1", "llm-0", 50), pod("llm-1", "llm-1", 40)})};
  const Decision decision = Steady(trigger, nodes);
  EXPECT_EQ(decision.value, 130) << Explain(trigger, decision);
  EXPECT_THAT(NamesOf(decision), ElementsAre("llm-0", "llm-1"));
  EXPECT_THAT(decision.shares[0].nodes, ElementsAre("gpu-1", "gpu-2"));
  trigger.aggregation = Aggregation::kSum;
  EXPECT_EQ(Steady(trigger, nodes).value, 200);
}

TEST(FleetDecision, GroupOnNodesReadAtDifferentTimesIsSmoothedOverBoth) {
  const auto node = [](const char* name, const char* pod, double load) {
    return Node(name,
                {{.name = pod, .owner = "LeaderWorkerSet/llm", .loads = {load}, .group = "llm-0"}});
  };
  FleetBuilder fleet;
  for (int i = 0; i < 60; ++i) {
    fleet.Tick({node("gpu-1", "llm-0", 60)}).Tick({node("gpu-2", "llm-0-1", 40)});
  }
  Trigger trigger = Of("llm");
  trigger.aggregation = Aggregation::kSum;
  EXPECT_EQ(On(trigger, fleet).value, 100);
  EXPECT_EQ(On(trigger, fleet).unreadable, 0);
}

TEST(FleetDecision, SharedGpuIsDividedButNotItsTemperature) {
  NodeSnapshot node = Node("gpu-1", {{.name = "llm-a", .owner = "llm", .loads = {80}}});
  node.pods.push_back(PodOf({.name = "x", .owner = "x"}));
  node.gpus[0].holders = {{.pod = 0, .container = "main", .share = 0.75},
                          {.pod = 1, .container = "main", .share = 0.25}};
  node.gpus[0].temperature_celsius = 64;
  EXPECT_EQ(Steady(Of("llm"), {node}).value, 60);
  EXPECT_EQ(Steady(Of("x"), {node}).value, 20);
  Trigger watts = Of("x");
  watts.metric = MetricType::kPowerDraw;
  watts.aggregation = Aggregation::kSum;
  EXPECT_EQ(Steady(watts, {node}).value, 25);
  Trigger celsius = Of("x");
  celsius.metric = MetricType::kTemperature;
  EXPECT_EQ(Steady(celsius, {node}).value, 64);
}

TEST(FleetDecision, TwoContainersOfAPodHaveOneGpuTogether) {
  NodeSnapshot node = Node("gpu-1", {{.name = "llm-a", .owner = "llm", .loads = {80}}});
  node.gpus[0].holders = {{.pod = 0, .container = "main", .share = 0.5},
                          {.pod = 0, .container = "sidecar", .share = 0.5}};
  EXPECT_EQ(Steady(Of("llm"), {node}).value, 80);
  EXPECT_EQ(Steady(Of("llm"), {node}).replicas, 1);
}

TEST(FleetDecision, PodIsWarmingUntilItWasReadyOnce) {
  const auto starting = [](double load, bool ready) {
    return std::vector<NodeSnapshot>{Node(
        "gpu-1",
        {Llm("llm-a", 60), {.name = "llm-b", .owner = "llm", .loads = {load}, .ready = ready}})};
  };
  FleetBuilder fleet;
  fleet.Hold(kLong, {Node("gpu-1", {Llm("llm-a", 60)})});
  fleet.Hold(absl::Minutes(4), starting(100, false));
  EXPECT_EQ(On(Of("llm"), fleet).value, 60);
  EXPECT_EQ(On(Of("llm"), fleet).warming, 1);
  EXPECT_THAT(Explain(Of("llm"), On(Of("llm"), fleet)), HasSubstr("not Ready yet"));
  fleet.Tick(starting(20, true));
  EXPECT_EQ(On(Of("llm"), fleet).value, 80) << "and its loading is not in the window";
  fleet.Hold(absl::Minutes(1), starting(90, false));
  EXPECT_EQ(On(Of("llm"), fleet).value, 150) << "one that is too busy for its probe is no start";
}

TEST(FleetDecision, WarmingPodKeepsTheWorkloadActiveFor30MinutesAtMost) {
  FleetBuilder fleet;
  fleet.Hold(kLong, {Node("gpu-1", {})});
  const std::vector<NodeSnapshot> stuck = {
      Node("gpu-1", {{.name = "llm-a", .owner = "llm", .loads = {0}, .ready = false}})};
  std::vector<NodeSnapshot> since = stuck;
  since[0].gpus[0].held_since = fleet.now() + kTick;
  fleet.Hold(absl::Minutes(29), since);
  EXPECT_TRUE(On(Of("llm"), fleet).active);
  fleet.Hold(absl::Minutes(2), since);
  EXPECT_FALSE(On(Of("llm"), fleet).active);
  EXPECT_EQ(On(Of("llm"), fleet).replicas, 0);
}

TEST(FleetDecision, ReadinessThatIsNotKnownIsTheClocks) {
  Trigger trigger = Of("llm");
  trigger.warmup = absl::Minutes(1);
  FleetBuilder fleet;
  fleet.Hold(kLong, {Node("gpu-1", {})})
      .Hold(absl::Minutes(1), {Node("gpu-1", {Llm("llm-a", 60)})});
  EXPECT_EQ(On(trigger, fleet).warming, 1);
  fleet.Tick({Node("gpu-1", {Llm("llm-a", 60)})});
  EXPECT_EQ(On(trigger, fleet).value, 60);
}

TEST(FleetDecision, ProcessesOfAPodComeAndGo) {
  FleetBuilder fleet;
  NodeSnapshot node = Node("gpu-1", {Llm("llm-a", 60)});
  fleet.Hold(kLong, {node});
  node.gpus[0].held_since = fleet.now() + kTick;
  node.gpus[0].utilization_percent = 0;
  fleet.Hold(absl::Seconds(10), {node});
  Trigger trigger = Of("llm");
  trigger.warmup = absl::Minutes(5);
  const Decision decision = On(trigger, fleet);
  EXPECT_EQ(decision.value, 40) << Explain(trigger, decision);
  EXPECT_EQ(decision.shares.size(), 1u);
}

TEST(FleetDecision, PodThatHasGoneCountsForActivityWithinTheWindow) {
  FleetBuilder fleet;
  fleet.Hold(kLong, {Node("gpu-1", {Llm("llm-a", 90)})}).Tick({Node("gpu-1", {})});
  EXPECT_TRUE(On(Of("llm"), fleet).active);
  EXPECT_EQ(On(Of("llm"), fleet).value, 0);
  EXPECT_TRUE(On(Utilization(), fleet).active) << "whose it was is known";
  fleet.Hold(Utilization().activation_window + kTick, {Node("gpu-1", {})});
  EXPECT_FALSE(On(Of("llm"), fleet).active);
}

// An engine that ends frees its memory first, and its pod goes a moment later.
TEST(FleetDecision, MemoryThatAPodHadBeforeItWentIsNoActivity) {
  for (const StandingMemory standing : {StandingMemory::kPressure, StandingMemory::kActivity}) {
    for (const double utilization : {0.0, 60.0}) {
      Trigger trigger = Of("llm");
      trigger.metric = MetricType::kMemoryUsedPercent;
      trigger.standing_memory = standing;
      trigger.preallocation_window = absl::Minutes(2);
      trigger.activation_threshold = 5;
      HeldPod engine = Llm("llm-a", utilization);
      engine.memory_used_percent = 91;
      FleetBuilder fleet;
      fleet.Hold(kLong, {Node("gpu-1", {engine})});
      EXPECT_EQ(On(trigger, fleet).active, utilization > 0);
      engine.memory_used_percent = 0;
      engine.loads = {0};
      fleet.Tick({Node("gpu-1", {engine})}).Tick({Node("gpu-1", {})});
      const Decision decision = On(trigger, fleet);
      EXPECT_EQ(decision.active, utilization > 0) << Explain(trigger, decision);
    }
  }
}

TEST(FleetDecision, GpuOfANewPodIsANewReplica) {
  FleetBuilder fleet;
  fleet.Hold(kLong, {Node("gpu-1", {Llm("llm-a", 90)})});
  fleet.Hold(absl::Seconds(10), {Node("gpu-1", {Llm("llm-b", 10)})});
  EXPECT_EQ(On(Of("llm"), fleet).value, 10) << "the other's load is not its own";
  EXPECT_EQ(On(Of("llm"), fleet).replicas, 1);
}

TEST(FleetDecision, OwnersThatAreLostMakeTheirPodsUnreadable) {
  const NodeSnapshot first = Node("gpu-1", {Llm("llm-a", 60)});
  const NodeSnapshot second = Node("gpu-2", {Llm("llm-b", 50)});
  FleetBuilder fleet;
  fleet.Hold(kLong, {first, second});
  fleet.Hold(kLong, {first, UnownedNode(second, "kubelet: connection refused")});
  const Decision decision = On(Of("llm"), fleet);
  EXPECT_EQ(decision.value, 60 + 80);
  EXPECT_EQ(decision.unreadable, 1);
  EXPECT_TRUE(decision.partial);
  EXPECT_THAT(
      Explain(Of("llm"), decision),
      HasSubstr("who holds the GPUs of node gpu-2 is unknown: kubelet: connection refused"));
  fleet.Hold(kLong, {UnownedNode(first, "no kubelet"), UnownedNode(second, "no kubelet")});
  EXPECT_EQ(On(Of("llm"), fleet).status.code(), absl::StatusCode::kUnavailable);
}

TEST(FleetDecision, OwnersThatWereNeverKnownAreNoZero) {
  const NodeSnapshot node = UnownedNode(Node("gpu-1", {Llm("llm-a", 60)}), "no kubelet");
  const Decision decision = Steady(Of("llm"), {node});
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(MessageOf(decision), HasSubstr("node gpu-1 is unknown: no kubelet"));
}

// Which of them is whose is not known before they answer.
TEST(FleetDecision, PodsThatMayHoldGpusThatNeverAnsweredStandAndAreNoStartOnceTheyDo) {
  Trigger trigger = Of("llm");
  trigger.warmup = absl::Minutes(5);
  const NodeSnapshot first = Node("gpu-1", {Llm("llm-a", 60)});
  const NodeSnapshot second = Node("gpu-2", {Llm("llm-b", 50), Llm("llm-c", 40)});
  NodeSnapshot silent = second;
  for (const int i : {0, 1}) {
    silent.gpus[i] = LostGpu(i);
    silent.gpus[i].uuid = UnknownGpuUuid(i);
    silent.gpus[i].in_use = false;
    silent.gpus[i].holders = {{.pod = 0, .share = 0.5}, {.pod = 1, .share = 0.5}};
  }
  FleetBuilder fleet;
  fleet.Hold(kLong, {first, silent});
  EXPECT_EQ(On(trigger, fleet).value, 60 + 2 * 80) << Explain(trigger, On(trigger, fleet));
  EXPECT_EQ(On(trigger, fleet).unreadable, 2);
  fleet.Hold(absl::Minutes(1), {first, second});
  EXPECT_EQ(On(trigger, fleet).value, 60 + 50 + 40) << Explain(trigger, On(trigger, fleet));
  EXPECT_EQ(On(trigger, fleet).warming, 0);
}

TEST(FleetDecision, WithoutAttributionANamedWorkloadIsAnError) {
  NodeSnapshot node = UnownedNode(Node("gpu-1", {Llm("llm-a", 60)}), "");
  node.attribution = {};
  EXPECT_EQ(Steady(Utilization(), {node}).value, 60) << "GPUs in use";
  EXPECT_EQ(Steady(Of("llm"), {node}).status.code(), absl::StatusCode::kFailedPrecondition);
  const Decision mixed = Steady(Utilization(), {node, Node("gpu-2", {Llm("llm-b", 50)})});
  EXPECT_EQ(mixed.value, 50);
  EXPECT_TRUE(mixed.partial) << "never the GPUs in use beside pods";
}

TEST(FleetDecision, ScopeFleetCountsAllGpusInUse) {
  Trigger trigger = Utilization();
  trigger.scope = Scope::kFleet;
  const Decision decision =
      Steady(trigger, {Node("gpu-1", {Llm("llm-a", 60)}),
                       Node("gpu-2", {{.name = "x", .owner = "x", .loads = {50}}})});
  EXPECT_EQ(decision.value, 110);
  EXPECT_EQ(decision.replicas_from, "GPUs in use");
  EXPECT_THAT(NamesOf(decision), ElementsAre("gpu-1/0", "gpu-2/0"));
}

TEST(FleetDecision, LastSnapshotOfASilentAgentCountsForGraceThenIsUnreadable) {
  const NodeSnapshot first = Node("gpu-1", {Llm("llm-a", 60)});
  FleetBuilder fleet;
  fleet.Hold(kLong, {first, Node("gpu-7", {Llm("llm-b", 40)})});
  fleet.Silence("gpu-7", "connection refused").Hold(absl::Seconds(14), {first});
  EXPECT_EQ(On(Of("llm"), fleet).value, 100);
  EXPECT_EQ(On(Of("llm"), fleet).unreadable, 0);
  EXPECT_FALSE(On(Of("llm"), fleet).partial);
  fleet.Hold(absl::Seconds(28), {first});
  const Decision decision = On(Of("llm"), fleet);
  EXPECT_EQ(decision.value, 60 + 80);
  EXPECT_EQ(decision.replicas, 2);
  EXPECT_TRUE(decision.active);
  EXPECT_TRUE(decision.partial);
  EXPECT_THAT(decision.notes,
              ElementsAre("partial: agent of node gpu-7 silent for 42s: connection refused"));
  EXPECT_EQ(decision.shares[1].because, "agent of node gpu-7 silent for 42s: connection refused");
}

TEST(FleetDecision, AgentThatIsHeardWithoutReadingsIsUnreadableAfterStaleAfter) {
  const NodeSnapshot first = Node("gpu-1", {Llm("llm-a", 60)});
  FleetBuilder fleet;
  fleet.Hold(kLong, {first, Node("gpu-7", {Llm("llm-b", 40)})}).Hold(absl::Seconds(8), {first});
  const Decision decision = On(Of("llm"), fleet);
  EXPECT_EQ(decision.value, 60 + 80);
  EXPECT_EQ(decision.shares[1].because, "node gpu-7 was last read 8s ago");
}

TEST(FleetDecision, NodeThatIsReadTooSeldomIsSaidToBe) {
  const NodeSnapshot first = Node("gpu-1", {Llm("llm-a", 60)});
  NodeSnapshot seldom = Node("gpu-7", {Llm("llm-b", 40)});
  seldom.read_every = kPatience.stale_after / 2 + absl::Milliseconds(1);
  FleetBuilder fleet;
  fleet.Hold(kLong, {first, seldom}).Hold(absl::Seconds(8), {first});
  EXPECT_EQ(On(Of("llm"), fleet).shares[1].because,
            "node gpu-7 was last read 8s ago: it is read every 3.001s, for which --stale-after=6s "
            "is too short");
}

TEST(FleetDecision, SilentNodeOfOthersLeavesTheWorkloadAlone) {
  const NodeSnapshot first = Node("gpu-1", {Llm("llm-a", 60)});
  FleetBuilder fleet;
  fleet.Hold(kLong, {first, Node("gpu-7", {{.name = "x", .owner = "x", .loads = {100}}})});
  fleet.Silence("gpu-7", "connection refused").Hold(kLong, {first});
  EXPECT_EQ(On(Of("llm"), fleet).value, 60);
  EXPECT_EQ(On(Of("llm"), fleet).unreadable, 0);
  EXPECT_TRUE(On(Of("llm"), fleet).partial) << "a pod may have come to it since";
}

TEST(FleetDecision, AllAgentsSilentAreUnavailable) {
  FleetBuilder fleet;
  fleet.Hold(kLong, {Node("gpu-1", {Llm("llm-a", 60)}), Node("gpu-2", {Llm("llm-b", 60)})});
  fleet.Silence("gpu-1", "connection refused").Silence("gpu-2", "no route to host");
  fleet.Hold(absl::Seconds(20), {});
  const Decision decision = On(Of("llm"), fleet);
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(MessageOf(decision), HasSubstr("agent of node gpu-1 silent for 20s"));
}

TEST(FleetDecision, AgentThatComesBackNeedsEvidenceAnewToBeIdle) {
  const std::vector<NodeSnapshot> idle = {Node("gpu-1", {Llm("llm-a", 0)})};
  FleetBuilder fleet;
  fleet.Hold(kLong, idle);
  EXPECT_FALSE(On(Of("llm"), fleet).active);
  fleet.Silence("gpu-1", "connection refused").Hold(absl::Seconds(30), {}).Tick(idle);
  EXPECT_TRUE(On(Of("llm"), fleet).active);
  fleet.Hold(Utilization().activation_window, idle);
  EXPECT_FALSE(On(Of("llm"), fleet).active);
}

TEST(FleetDecision, NewNodeOfOthersHoldsNobodyActive) {
  const NodeSnapshot idle = Node("gpu-1", {Llm("llm-a", 0)});
  FleetBuilder fleet;
  fleet.Hold(kLong, {idle}).Tick({idle, Node("gpu-2", {})});
  EXPECT_FALSE(On(Of("llm"), fleet).active);
}

// A slip in a name looks like a workload that sleeps.
TEST(FleetDecision, WorkloadThatNobodySeesIsToldWhoHoldsTheGpus) {
  const std::vector<NodeSnapshot> nodes = {
      Node("gpu-1", {Llm("llm-a", 90), {.name = "x", .owner = "Job/x", .loads = {100}}}),
      Node("gpu-2", {{.name = "s", .owner = "s", .loads = {1}, .namespace_name = "team-b"}})};
  const std::string held = "; those of namespace team-a are held by Deployment/llm, Job/x";
  Decision decision = Steady(Of("lm", "Deployment"), nodes);
  EXPECT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 0);
  EXPECT_FALSE(decision.active);
  EXPECT_FALSE(decision.partial);
  EXPECT_THAT(Explain(Of("lm"), decision),
              HasSubstr("note: no pods of Deployment/lm hold GPUs" + held));
  decision = Steady(Of("llm", "StatefulSet"), nodes);
  EXPECT_THAT(decision.notes, ElementsAre("no pods of StatefulSet/llm hold GPUs" + held));
  Trigger by_regex = Utilization();
  by_regex.pod_regex = std::make_shared<const re2::RE2>("lm-.*");
  EXPECT_THAT(Steady(by_regex, nodes).notes,
              ElementsAre("no pods matching \"lm-.*\" hold GPUs" + held));
  EXPECT_THAT(Steady(Of("llm"), nodes).notes, IsEmpty());
  EXPECT_THAT(Steady(Of("llm"), nodes, {.namespace_name = "team-c", .name = "llm"}).notes,
              IsEmpty())
      << "nobody holds any there";
}

TEST(FleetDecision, WorkloadThatSleepsIsNoSlip) {
  FleetBuilder fleet;
  fleet.Hold(kLong, {Node("gpu-1", {Llm("llm-a", 0), {.name = "x", .owner = "x", .loads = {9}}})});
  fleet.Hold(kLong, {Node("gpu-1", {{.name = "x", .owner = "x", .loads = {9}}})});
  EXPECT_THAT(On(Of("llm"), fleet).notes, IsEmpty());
  Trigger by_regex = Utilization();
  by_regex.pod_regex = std::make_shared<const re2::RE2>("llm-.*");
  EXPECT_THAT(On(by_regex, fleet).notes, IsEmpty());
}

TEST(FleetDecision, OfManyOthersFiveAreNamed) {
  std::vector<HeldPod> pods;
  for (int i = 0; i < 7; ++i) {
    pods.push_back({.name = absl::StrCat("x", i), .owner = absl::StrCat("x", i), .loads = {1}});
  }
  EXPECT_THAT(Steady(Of("llm"), {Node("gpu-1", pods)}).notes,
              ElementsAre(HasSubstr("Deployment/x3, Deployment/x4 and 2 more")));
}

TEST(FleetDecision, FleetWithoutAnyAgentSaysSo) {
  FleetHistory fleet = FleetBuilder().fleet();
  fleet.none_listed = true;
  const Decision decision = Decide(Of("llm"), kLlm, fleet, kPatience);
  EXPECT_TRUE(decision.status.ok());
  EXPECT_FALSE(decision.partial) << "normal where nodes come with their pods";
  EXPECT_THAT(Explain(Of("llm"), decision), HasSubstr("note: no agent is listed: "));
}

TEST(FleetDecision, EmptyFleetIsIdle) {
  const Decision empty = On(Of("llm"), FleetBuilder());
  EXPECT_TRUE(empty.status.ok()) << empty.status;
  EXPECT_EQ(empty.value, 0);
  EXPECT_FALSE(empty.active);
  EXPECT_EQ(empty.replicas_from, "pods of llm");
}

TEST(FleetDecision, AgentThatWasNeverHeardMakesAnswersPartial) {
  FleetBuilder fleet;
  fleet.Hold(kLong, {Node("gpu-1", {Llm("llm-a", 60)})}).Unheard("10.0.0.7:6001");
  EXPECT_EQ(On(Of("llm"), fleet).value, 60);
  for (const char* name : {"llm", "asleep"}) {
    EXPECT_TRUE(On(Of(name), fleet).status.ok()) << On(Of(name), fleet).status;
    EXPECT_THAT(On(Of(name), fleet).notes,
                Contains(HasSubstr("1 agent not heard yet: 10.0.0.7:6001")));
  }
}

TEST(FleetDecision, GpuIndexAndMetricAreLookedForAmongItsOwn) {
  Trigger index = Of("llm");
  index.gpu_index = 1;
  const std::vector<NodeSnapshot> nodes = {
      Node("gpu-1", {{.name = "llm-a", .owner = "llm", .loads = {90, 50}}})};
  EXPECT_EQ(Steady(index, nodes).value, 50);
  index.gpu_index = 7;
  EXPECT_EQ(Steady(index, nodes).status.code(), absl::StatusCode::kFailedPrecondition);
  Trigger nvlink = Of("llm");
  nvlink.metric = MetricType::kNvlinkTx;
  EXPECT_THAT(MessageOf(Steady(nvlink, nodes)),
              HasSubstr("no GPU in scope has nvlink_tx_mbps: gpu-1/0 (NVIDIA Test)"));
}

TEST(FleetDecision, MigInstancesHaveTheirPartOfWhatOnlyTheirGpuTells) {
  NodeSnapshot node = Node("gpu-1", {Llm("llm-a", 70), {.name = "x", .owner = "x", .loads = {10}}});
  GpuSample parent = FreeGpu(0);
  parent.uuid = "GPU-parent";
  for (GpuSample& instance : node.gpus) {
    instance.index = 0;
    instance.parent_uuid = parent.uuid;
    instance.power_watts.reset();
  }
  node.gpus.insert(node.gpus.begin(), parent);
  EXPECT_EQ(Steady(Of("llm"), {node}).value, 70);
  Trigger watts = Of("llm");
  watts.metric = MetricType::kPowerDraw;
  watts.aggregation = Aggregation::kSum;
  EXPECT_EQ(Steady(watts, {node}).value, 50);
}

// An instance that lacks what its GPU alone tells.
NodeSnapshot NodeWithInstance(double watts_of_its_gpu) {
  NodeSnapshot node = Node("gpu-1", {{.name = "x", .owner = "x", .loads = {10}}, Llm("llm-a", 70)});
  GpuSample parent = FreeGpu(1);
  parent.uuid = "GPU-parent";
  parent.power_watts = watts_of_its_gpu;
  GpuSample& instance = node.gpus[1];
  instance.parent_uuid = parent.uuid;
  instance.power_watts.reset();
  node.gpus.insert(node.gpus.begin() + 1, parent);
  return node;
}

TEST(FleetDecision, GpuOfAnInstanceIsFoundThoughOthersHaveLeftItsNodeSinceHoldersWereKnown) {
  NodeSnapshot unowned = UnownedNode(NodeWithInstance(300), "no answer");
  unowned.gpus.erase(unowned.gpus.begin());
  NodeSnapshot known = NodeWithInstance(100);
  known.gpus.erase(known.gpus.begin());
  FleetBuilder fleet;
  fleet.Hold(kLong, {NodeWithInstance(100)});
  fleet.Hold(kLong, {unowned}).Tick({known});
  Trigger watts = Of("llm");
  watts.metric = MetricType::kPowerDraw;
  watts.window = absl::Seconds(30);
  watts.window_aggregation = WindowAggregation::kMax;
  EXPECT_EQ(On(watts, fleet).value, 300);
}

TEST(FleetDecision, StandingMemoryIsThePodsOwn) {
  Trigger trigger = Of("llm");
  trigger.metric = MetricType::kMemoryUsedPercent;
  trigger.standing_memory = StandingMemory::kPressure;
  const std::vector<NodeSnapshot> nodes = {
      Node("gpu-1", {{.name = "llm-a", .owner = "llm", .loads = {30}, .memory_used_percent = 91}})};
  EXPECT_EQ(Steady(trigger, nodes).value, 30);
  EXPECT_TRUE(Steady(trigger, nodes).saturation_unknown);
}

TEST(Explain, TellsNodesAgesPodsAndWhatIsMissing) {
  const NodeSnapshot first = Node("gpu-1", {Llm("llm-a", 60)});
  FleetBuilder fleet;
  fleet.Hold(kLong, {first, Node("gpu-7", {Llm("llm-b", 40)})});
  fleet.Silence("gpu-7", "connection refused").Hold(absl::Seconds(42), {first});
  const std::string text = Explain(Of("llm"), On(Of("llm"), fleet));
  EXPECT_THAT(text, HasSubstr("replicas: 2 (pods of Deployment/llm; 1 unreadable)"));
  EXPECT_THAT(text, HasSubstr("nodes: gpu-1 (1 replica, read now), gpu-7 (1 replica, read 42s"));
  EXPECT_THAT(text, HasSubstr("on gpu-7  agent of node gpu-7 silent for 42s: connection refused"));
  EXPECT_THAT(text, HasSubstr("note: partial: agent of node gpu-7"));
}

}  // namespace
}  // namespace gpuscaler
