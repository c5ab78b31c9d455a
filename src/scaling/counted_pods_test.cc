// Tests of the choice of the pods that count, and of what is reported if that is ambiguous.
//
// Without a ScaledObjectRef, DecidedOn() decides for the ScaledObject "llm" of namespace team-a. An
// owner without a kind is a Deployment. States last `kLong`, so that earlier loads are out of every
// window.
#include <re2/re2.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_decided_fleet.h"
#include "scaling/test_engine_workload_builder.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CountedPods, PodsOfAnotherNamespaceCountOnlyIfItIsAllowed) {
  const std::vector<NodeSnapshot> nodes = {Node(
      "gpu-1", {Llm("llm-a", 90),
                {.name = "llm-b", .owner = "llm", .loads = {30}, .namespace_name = "team-b"}})};
  EXPECT_EQ(DecidedOn(Utilization(), nodes).value, 90);
  EXPECT_EQ(DecidedOn(Utilization(), nodes, {.namespace_name = "team-b", .name = "llm"}).value, 30);
  EXPECT_EQ(DecidedOn(Utilization(), nodes, {.namespace_name = "team-c", .name = "llm"}).value, 0);
  const ScaledObjectRef may_see_team_b{
      .namespace_name = "team-c", .name = "llm", .allowed_namespaces = {"team-b"}};
  const Decision decision = DecidedOn(Utilization(), nodes, may_see_team_b);
  EXPECT_EQ(decision.value, 30);
  EXPECT_THAT(NamesOf(decision), ElementsAre("team-b/llm-b"));
}

TEST(CountedPods, SeveralOwnersAreAnErrorUntilOneIsNamed) {
  const std::vector<NodeSnapshot> nodes = {
      Node("gpu-1", {Llm("llm-a", 90), {.name = "embed-a", .owner = "embed", .loads = {30}}})};
  const ScaledObjectRef scaled_object{.namespace_name = "team-a", .name = "scaler"};
  const Decision decision = DecidedOn(Utilization(), nodes, scaled_object);
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(MessageOf(decision), HasSubstr("Deployment/embed, Deployment/llm"));
  EXPECT_EQ(DecidedOn(UtilizationOf("embed"), nodes, scaled_object).value, 30);
  EXPECT_EQ(DecidedOn(Utilization(), nodes).value, 90)
      << "Deployment/llm is named like the ScaledObject llm";
  Trigger regex = Utilization();
  regex.pod_regex = std::make_shared<const re2::RE2>("embed-.");
  EXPECT_EQ(DecidedOn(regex, nodes, scaled_object).value, 30);
}

// A pod without the label pod-template-hash may be of Deployment/llm: only its ReplicaSet is known.
TEST(CountedPods, WorkloadWithoutPodsIsUnavailableWhileAPodMayBeItsOwn) {
  const GpuPod unresolved{.name = "llm-6d4-x7k2p", .owner = "ReplicaSet/llm-6d4", .loads = {90}};
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("gpu-1", {unresolved})});
  Decision decision = DecidedOn(UtilizationOf("llm"), fleet);
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(MessageOf(decision), HasSubstr("llm-6d4-x7k2p of ReplicaSet/llm-6d4"));
  EXPECT_THAT(Explain(UtilizationOf("llm"), decision), HasSubstr("llm-6d4-x7k2p"));
  EXPECT_EQ(DecidedOn(Utilization(), fleet).value, 90) << "the only owner";

  fleet.RepeatFor(kLong, {Node("gpu-1", {unresolved, Llm("llm-a", 20)})});
  decision = DecidedOn(UtilizationOf("llm"), fleet);
  EXPECT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 20);

  fleet.RepeatFor(kLong, {Node("gpu-1", {unresolved})});
  for (const Trigger& trigger : {UtilizationOf("llm"), Utilization()}) {
    EXPECT_EQ(DecidedOn(trigger, fleet).status.code(), absl::StatusCode::kUnavailable)
        << "Deployment/llm had pods, so the ReplicaSet is not the only owner";
  }
}

NodeSnapshot NodeOfPod(const std::string& node, const std::string& uid, double load) {
  NodeSnapshot snapshot = Node(node, {Llm("llm-0", load)});
  snapshot.pods[0].uid = uid;
  return snapshot;
}

TEST(CountedPods, PodThatTwoNodesReportIsOneUnreadableReplica) {
  const NodeSnapshot other = Node("gpu-3", {Llm("llm-1", 60)});
  const Decision decision = DecidedOn(
      Utilization(), {NodeOfPod("gpu-1", "uid-1", 90), NodeOfPod("gpu-2", "uid-1", 0), other});
  EXPECT_EQ(decision.value, 80 + 60) << "the pod on two nodes counts as the target, 80";
  EXPECT_EQ(decision.replicas, 2);
  EXPECT_EQ(decision.unreadable, 1);
  EXPECT_THAT(Explain(Utilization(), decision), HasSubstr("pod llm-0 is on nodes gpu-1 and gpu-2"));
}

TEST(CountedPods, EngineOfAPodThatTwoNodesReportIsUnreadable) {
  const auto node = [](const std::string& name, const std::string& pod, const std::string& uid) {
    NodeSnapshot snapshot = Node(name, {LlmPod(pod)});
    snapshot.pods[0].uid = uid;
    return snapshot;
  };
  const NodeSnapshot first = node("gpu-1", "llm-a", "uid-1");
  const NodeSnapshot third = node("gpu-3", "llm-b", "uid-2");
  EngineWorkloadBuilder on_two_nodes(
      FleetBuilder().RepeatFor(kLong, {first, node("gpu-2", "llm-a", "uid-1"), third}));
  on_two_nodes.EngineIn("llm-a", 0);
  on_two_nodes.EngineIn("llm-b", 4);
  const Decision decision = on_two_nodes.Decide(InFlight());
  EXPECT_EQ(decision.value, 10 + 4) << "llm-a counts as the target, 10";
  EXPECT_EQ(decision.unreadable, 1);
  EngineWorkloadBuilder on_one_node(FleetBuilder().RepeatFor(kLong, {first, third}));
  on_one_node.EngineIn("llm-a", 0);
  on_one_node.EngineIn("llm-b", 4);
  EXPECT_EQ(on_one_node.Decide(InFlight()).value, 4);
}

TEST(CountedPods, PodsOfOneNameOnTwoNodesAreTwoReplicasUnlessTheyShareAUid) {
  EXPECT_EQ(
      DecidedOn(Utilization(), {NodeOfPod("gpu-1", "uid-1", 90), NodeOfPod("gpu-2", "uid-2", 30)})
          .value,
      120);
  EXPECT_EQ(
      DecidedOn(Utilization(), {NodeOfPod("gpu-1", "", 90), NodeOfPod("gpu-2", "", 30)}).value, 120)
      << "without the kubelet's Pods API no uid is known";
}

// A StatefulSet recreates a pod with the same name and another UID.
TEST(CountedPods, PodThatIsRecreatedOnAnotherNodeIsOneReplica) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {NodeOfPod("gpu-1", "uid-1", 90), Node("gpu-2", {})});
  fleet.RepeatFor(kLong, {Node("gpu-1", {}), NodeOfPod("gpu-2", "uid-2", 30)});
  const Decision decision = DecidedOn(Utilization(), fleet);
  EXPECT_EQ(decision.value, 30);
  EXPECT_EQ(decision.unreadable, 0);
}

TEST(CountedPods, OtherOwnerDoesNotActivateAWorkloadThatHadPods) {
  const GpuPod stranger{.name = "x-a", .owner = "x", .loads = {100}};
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("gpu-1", {Llm("llm-a", 0)}), Node("gpu-2", {})});
  fleet.RepeatFor(kLong, {Node("gpu-1", {}), Node("gpu-2", {stranger})});
  const Decision decision = DecidedOn(Utilization(), fleet);
  EXPECT_FALSE(decision.active) << decision.active_because;
  EXPECT_EQ(decision.value, 0);
  EXPECT_EQ(decision.replicas_from, "pods of Deployment/llm");
  EXPECT_THAT(decision.notes, IsEmpty());
}

TEST(CountedPods, ExplanationNamesTheOnlyOwnerIfItIsAssumedToBeTheWorkload) {
  const Decision decision =
      DecidedOn(Utilization(), {Node("gpu-1", {{.name = "x-a", .owner = "x", .loads = {100}}})});
  EXPECT_TRUE(decision.active);
  EXPECT_THAT(decision.notes,
              ElementsAre(HasSubstr("counts pods of Deployment/x, the only owner")));
}

TEST(CountedPods, NoPodsAreNoReplicasAndNoError) {
  const Decision decision = DecidedOn(
      UtilizationOf("llm"), {Node("gpu-1", {{.name = "x", .owner = "x", .loads = {100}}})});
  EXPECT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 0);
  EXPECT_EQ(decision.replicas, 0);
  EXPECT_FALSE(decision.active);
  EXPECT_EQ(decision.replicas_from, "pods of llm");
  EXPECT_THAT(decision.contributions, IsEmpty());
}

TEST(CountedPods, ScopeFleetCountsAllGpusInUse) {
  Trigger trigger = Utilization();
  trigger.scope = Scope::kFleet;
  const Decision decision =
      DecidedOn(trigger, {Node("gpu-1", {Llm("llm-a", 60)}),
                          Node("gpu-2", {{.name = "x", .owner = "x", .loads = {50}}})});
  EXPECT_EQ(decision.value, 110);
  EXPECT_EQ(decision.replicas_from, "GPUs in use");
  EXPECT_THAT(NamesOf(decision), ElementsAre("gpu-1/0", "gpu-2/0"));
}

TEST(CountedPods, WithoutAttributionANamedWorkloadIsAnError) {
  NodeSnapshot node = NodeWithoutOwners(Node("gpu-1", {Llm("llm-a", 60)}), "");
  node.attribution = {.state = Attribution::State::kNone};  // its agent queries no kubelet
  EXPECT_EQ(DecidedOn(Utilization(), {node}).value, 60) << "GPUs in use";
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), {node}).status.code(),
            absl::StatusCode::kFailedPrecondition);
  const Decision mixed = DecidedOn(Utilization(), {node, Node("gpu-2", {Llm("llm-b", 50)})});
  EXPECT_EQ(mixed.value, 50);
  EXPECT_TRUE(mixed.partial) << "GPUs in use are not added to the replicas of known pods";
}

// A misspelt name looks like a workload that is scaled to zero.
TEST(CountedPods, NamedWorkloadWithoutPodsListsOtherHolders) {
  const std::vector<NodeSnapshot> nodes = {
      Node("gpu-1", {Llm("llm-a", 90), {.name = "x", .owner = "Job/x", .loads = {100}}}),
      Node("gpu-2", {{.name = "s", .owner = "s", .loads = {1}, .namespace_name = "team-b"}})};
  const std::string held = "; those of namespace team-a are held by Deployment/llm, Job/x";
  Decision decision = DecidedOn(UtilizationOf("lm", "Deployment"), nodes);
  EXPECT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 0);
  EXPECT_FALSE(decision.active);
  EXPECT_FALSE(decision.partial);
  EXPECT_THAT(Explain(UtilizationOf("lm"), decision),
              HasSubstr("note: no pods of Deployment/lm hold GPUs" + held));
  decision = DecidedOn(UtilizationOf("llm", "StatefulSet"), nodes);
  EXPECT_THAT(decision.notes, ElementsAre("no pods of StatefulSet/llm hold GPUs" + held +
                                          "; is Deployment/llm meant?"));
  EXPECT_EQ(decision.ambiguity.text, decision.notes.front())
      << "Decision::ambiguity is also logged";
  Trigger by_regex = Utilization();
  by_regex.pod_regex = std::make_shared<const re2::RE2>("lm-.*");
  EXPECT_THAT(DecidedOn(by_regex, nodes).notes,
              ElementsAre("no pods matching \"lm-.*\" hold GPUs" + held));
  EXPECT_THAT(DecidedOn(UtilizationOf("llm"), nodes).notes, IsEmpty());
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), nodes).ambiguity.text, "");
  EXPECT_THAT(
      DecidedOn(UtilizationOf("llm"), nodes, {.namespace_name = "team-c", .name = "llm"}).notes,
      IsEmpty())
      << "no pod of team-c holds GPUs";
}

TEST(CountedPods, WorkloadAtZeroReplicasIsNotReportedAsMisspelt) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong,
                  {Node("gpu-1", {Llm("llm-a", 0), {.name = "x", .owner = "x", .loads = {9}}})});
  fleet.RepeatFor(kLong, {Node("gpu-1", {{.name = "x", .owner = "x", .loads = {9}}})});
  EXPECT_THAT(DecidedOn(UtilizationOf("llm"), fleet).notes, IsEmpty());
  Trigger by_regex = Utilization();
  by_regex.pod_regex = std::make_shared<const re2::RE2>("llm-.*");
  EXPECT_THAT(DecidedOn(by_regex, fleet).notes, IsEmpty());
}

TEST(CountedPods, AtMostFiveOtherHoldersAreNamed) {
  std::vector<GpuPod> pods;
  for (int i = 0; i < 7; ++i) {
    pods.push_back({.name = absl::StrCat("x", i), .owner = absl::StrCat("x", i), .loads = {1}});
  }
  EXPECT_THAT(DecidedOn(UtilizationOf("llm"), {Node("gpu-1", pods)}).notes,
              ElementsAre(HasSubstr("Deployment/x3, Deployment/x4 and 2 more")));
}

}  // namespace
}  // namespace gpuscaler
