// The value of a workload's pods on all its nodes.
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_decided_fleet.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FleetDecision, ValueIsTheSumOverTheWorkloadsPodsOnAllNodes) {
  const Decision decision =
      DecidedOn(UtilizationOf("llm"),
                {Node("gpu-1", {Llm("llm-a", 90), {.name = "x", .owner = "x", .loads = {100}}}),
                 Node("gpu-2", {Llm("llm-b", 50)})});
  EXPECT_EQ(decision.value, 140) << Explain(UtilizationOf("llm"), decision);
  EXPECT_EQ(decision.replicas, 2);
  EXPECT_EQ(decision.replicas_from, "pods of Deployment/llm");
  EXPECT_THAT(NamesOf(decision), ElementsAre("llm-a", "llm-b"));
  EXPECT_FALSE(decision.partial);
}

TEST(FleetDecision, IdlePodIsAReplicaAllTheSame) {
  const Decision decision =
      DecidedOn(UtilizationOf("llm"), {Node("gpu-1", {Llm("llm-a", 0), Llm("llm-b", 60)})});
  EXPECT_EQ(decision.replicas, 2);
  EXPECT_EQ(decision.value, 60);
}

TEST(FleetDecision, PodOfSeveralGpusIsOneReplica) {
  Trigger trigger = UtilizationOf("llm");
  const std::vector<NodeSnapshot> nodes = {
      Node("gpu-1", {{.name = "llm-a", .owner = "llm", .loads = {90, 50}}, Llm("llm-b", 10)})};
  EXPECT_EQ(DecidedOn(trigger, nodes).value, 100);
  trigger.aggregation = Aggregation::kAvg;
  EXPECT_EQ(DecidedOn(trigger, nodes).value, 80);
  EXPECT_EQ(DecidedOn(trigger, nodes).replicas, 2);
}

TEST(FleetDecision, PossibleHolderTakesNoShareFromThePodThatHoldsTheGpu) {
  NodeSnapshot node = Node("gpu-1", {Llm("llm-a", 90), {.name = "x", .owner = "x", .loads = {0}}});
  node.gpus[0].holders.push_back({.pod = 1, .container = "main", .share = 0, .is_possible = true});
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {node})
      .Tick({NodeWithoutOwners(node, "the kubelet does not answer")})
      .Tick({node});
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).value, 90);
}

// KAI reserves the GPU on a node without the Pods API: each pod without a GPU may share it.
TEST(FleetDecision, PodWithoutAGpuThatMayShareAReservedOneIsNoOtherOwner) {
  NodeSnapshot node = Node("gpu-1", {Llm("llm-a", 90), {.name = "cache-0", .loads = {0}}});
  node.gpus[1].holders[0] = {.pod = 1, .is_possible = true};
  const Decision decision =
      DecidedOn(UtilizationOf(""), {node},
                {.namespace_name = "team-a", .name = "scaler", .allowed_namespaces = {}});
  EXPECT_EQ(decision.value, 90) << decision.status;
  EXPECT_THAT(NamesOf(decision), ElementsAre("llm-a"));
}

TEST(FleetDecision, GroupIsOneReplicaOverAllItsNodes) {
  const auto pod = [](const char* name, const char* group, double load) {
    return GpuPod{.name = name, .owner = "LeaderWorkerSet/llm", .loads = {load}, .group = group};
  };
  Trigger trigger = UtilizationOf("llm");
  const std::vector<NodeSnapshot> nodes = {
      Node("gpu-1", {pod("llm-0", "llm-0", 90), pod("llm-1-1", "llm-1", 20)}),
      Node("gpu-2", {pod("llm-0-1", "llm-0", 50), pod("llm-1", "llm-1", 40)})};
  const Decision decision = DecidedOn(trigger, nodes);
  EXPECT_EQ(decision.value, 130) << Explain(trigger, decision);
  EXPECT_THAT(NamesOf(decision), ElementsAre("llm-0", "llm-1"));
  EXPECT_THAT(decision.contributions[0].nodes, ElementsAre("gpu-1", "gpu-2"));
  trigger.aggregation = Aggregation::kSum;
  EXPECT_EQ(DecidedOn(trigger, nodes).value, 200);
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
  Trigger trigger = UtilizationOf("llm");
  trigger.aggregation = Aggregation::kSum;
  EXPECT_EQ(DecidedOn(trigger, fleet).value, 100);
  EXPECT_EQ(DecidedOn(trigger, fleet).unreadable, 0);
}

TEST(FleetDecision, FirstOfEqualReadingsCoversTheTimeBeforeItAlsoOnTwoNodes) {
  const auto pod = [](const char* name, double load) {
    return GpuPod{.name = name, .owner = "LeaderWorkerSet/llm", .loads = {load}, .group = "llm-0"};
  };
  Trigger trigger = UtilizationOf("llm");
  trigger.replica_aggregation = ReplicaAggregation::kMax;  // smoothes each replica by itself
  trigger.window = absl::Seconds(10);
  FleetBuilder one_node;
  FleetBuilder two_nodes;
  for (const auto& [load, duration] : {std::pair(20, kLong), std::pair(80, 3 * kTick)}) {
    one_node.RepeatFor(duration, {Node("gpu-1", {pod("llm-0", load), pod("llm-0-1", load)})});
    two_nodes.RepeatFor(
        duration, {Node("gpu-1", {pod("llm-0", load)}), Node("gpu-2", {pod("llm-0-1", load)})});
  }
  EXPECT_NEAR(DecidedOn(trigger, one_node).value, 0.4 * 20 + 0.6 * 80, 0.001);
  EXPECT_NEAR(DecidedOn(trigger, two_nodes).value, 0.4 * 20 + 0.6 * 80, 0.001);
}

TEST(FleetDecision, SharedGpuIsDividedButNotItsTemperature) {
  NodeSnapshot node = Node("gpu-1", {{.name = "llm-a", .owner = "llm", .loads = {80}}});
  node.pods.push_back(PodOf({.name = "x", .owner = "x"}));
  node.gpus[0].holders = {{.pod = 0, .container = "main", .share = 0.75},
                          {.pod = 1, .container = "main", .share = 0.25}};
  node.gpus[0].temperature_celsius = 64;
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), {node}).value, 60);
  EXPECT_EQ(DecidedOn(UtilizationOf("x"), {node}).value, 20);
  Trigger watts = UtilizationOf("x");
  watts.metric = MetricType::kPowerDraw;
  watts.aggregation = Aggregation::kSum;
  EXPECT_EQ(DecidedOn(watts, {node}).value, 25);
  Trigger celsius = UtilizationOf("x");
  celsius.metric = MetricType::kTemperature;
  EXPECT_EQ(DecidedOn(celsius, {node}).value, 64);
}

TEST(FleetDecision, TwoContainersOfAPodHaveOneGpuTogether) {
  NodeSnapshot node = Node("gpu-1", {{.name = "llm-a", .owner = "llm", .loads = {80}}});
  node.gpus[0].holders = {{.pod = 0, .container = "main", .share = 0.5},
                          {.pod = 0, .container = "sidecar", .share = 0.5}};
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), {node}).value, 80);
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), {node}).replicas, 1);
}

TEST(FleetDecision, ProcessesOfAPodComeAndGo) {
  FleetBuilder fleet;
  NodeSnapshot node = Node("gpu-1", {Llm("llm-a", 60)});
  fleet.RepeatFor(kLong, {node});
  node.gpus[0].held_since = fleet.now() + kTick;
  node.gpus[0].utilization_percent = 0;
  fleet.RepeatFor(absl::Seconds(10), {node});
  Trigger trigger = UtilizationOf("llm");
  trigger.warmup = absl::Minutes(5);
  const Decision decision = DecidedOn(trigger, fleet);
  EXPECT_EQ(decision.value, 40) << Explain(trigger, decision);
  EXPECT_EQ(decision.contributions.size(), 1u);
}

TEST(FleetDecision, GpuOfANewPodIsANewReplica) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("gpu-1", {Llm("llm-a", 90)})});
  fleet.RepeatFor(absl::Seconds(10), {Node("gpu-1", {Llm("llm-b", 10)})});
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).contributions[0].load, 10 * 8 / 30.0)
      << "the other's load is not its own";
  EXPECT_NEAR(DecidedOn(UtilizationOf("llm"), fleet).value, (90 * 20 + 10 * 8) / 30.0, 0.001);
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).replicas, 1);
}

TEST(FleetDecision, GpuIndexAndMetricAreLookedForAmongItsOwn) {
  Trigger index = UtilizationOf("llm");
  index.gpu_index = 1;
  const std::vector<NodeSnapshot> nodes = {
      Node("gpu-1", {{.name = "llm-a", .owner = "llm", .loads = {90, 50}}})};
  EXPECT_EQ(DecidedOn(index, nodes).value, 50);
  index.gpu_index = 7;
  EXPECT_EQ(DecidedOn(index, nodes).status.code(), absl::StatusCode::kFailedPrecondition);
  Trigger nvlink = UtilizationOf("llm");
  nvlink.metric = MetricType::kNvlinkTx;
  EXPECT_THAT(MessageOf(DecidedOn(nvlink, nodes)),
              HasSubstr("no GPU in scope has nvlink_tx_mbps: gpu-1/0 (NVIDIA Test)"));
}

}  // namespace
}  // namespace gpuscaler
