// Nodes with agents or kubelets that stop to answer, or never did.
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_decided_fleet.h"

namespace gpuscaler {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DisconnectedNode, LastSnapshotOfADisconnectedAgentCountsForGraceThenIsUnreadable) {
  const NodeSnapshot first = Node("gpu-1", {Llm("llm-a", 60)});
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {first, Node("gpu-7", {Llm("llm-b", 40)})});
  fleet.Disconnect("gpu-7", "connection refused").RepeatFor(absl::Seconds(14), {first});
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).value, 100);
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).unreadable, 0);
  EXPECT_FALSE(DecidedOn(UtilizationOf("llm"), fleet).partial);
  fleet.RepeatFor(absl::Seconds(28), {first});
  const Decision decision = DecidedOn(UtilizationOf("llm"), fleet);
  EXPECT_EQ(decision.value, 60 + 80);
  EXPECT_EQ(decision.replicas, 2);
  EXPECT_TRUE(decision.active);
  EXPECT_TRUE(decision.partial);
  EXPECT_THAT(decision.notes,
              ElementsAre("partial: agent of node gpu-7 disconnected for 42s: connection refused"));
  EXPECT_EQ(decision.contributions[1].because,
            "agent of node gpu-7 disconnected for 42s: connection refused");
}

TEST(DisconnectedNode, ConnectedAgentWithoutReadingsIsUnreadableAfterStaleAfter) {
  const NodeSnapshot first = Node("gpu-1", {Llm("llm-a", 60)});
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {first, Node("gpu-7", {Llm("llm-b", 40)})})
      .RepeatFor(absl::Seconds(8), {first});
  const Decision decision = DecidedOn(UtilizationOf("llm"), fleet);
  EXPECT_EQ(decision.value, 60 + 80);
  EXPECT_EQ(decision.contributions[1].because, "node gpu-7 was last read 8s ago");
}

TEST(DisconnectedNode, NodeWithATooLongPollIntervalIsReported) {
  const NodeSnapshot first = Node("gpu-1", {Llm("llm-a", 60)});
  NodeSnapshot seldom = Node("gpu-7", {Llm("llm-b", 40)});
  seldom.read_every = kStaleness.stale_after / 2 + absl::Milliseconds(1);
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {first, seldom}).RepeatFor(absl::Seconds(8), {first});
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).contributions[1].because,
            "node gpu-7 was last read 8s ago: it is read every 3.001s, for which --stale-after=6s "
            "is too short");
}

TEST(DisconnectedNode, DisconnectedNodeOfOtherPodsDoesNotChangeTheWorkload) {
  const NodeSnapshot first = Node("gpu-1", {Llm("llm-a", 60)});
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {first, Node("gpu-7", {{.name = "x", .owner = "x", .loads = {100}}})});
  fleet.Disconnect("gpu-7", "connection refused").RepeatFor(kLong, {first});
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).value, 60);
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).unreadable, 0);
  EXPECT_TRUE(DecidedOn(UtilizationOf("llm"), fleet).partial) << "a pod may have come to it since";
}

TEST(DisconnectedNode, PossibleHolderOfAGpuIsUnreadableAndTheOthersAreRead) {
  NodeSnapshot node = Node("gpu-1", {Llm("llm-a", 60), Llm("llm-b", 5), Llm("llm-c", 5)});
  node.attribution.why = "team-a/llm-b holds gpu-9 of gpu.nvidia.com, which may be GPU 1";
  for (const size_t gpu : {1, 2}) {
    node.gpus[gpu].holders = {{.pod = 1, .container = "main", .share = 0.5, .is_possible = true},
                              {.pod = 2, .container = "main", .share = 0.5, .is_possible = true}};
  }
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {node});
  const Decision decision = DecidedOn(UtilizationOf("llm"), fleet);
  ASSERT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 60 + 80 + 80);
  EXPECT_EQ(decision.replicas, 3);
  EXPECT_EQ(decision.unreadable, 2);
  EXPECT_THAT(decision.contributions[1].because, HasSubstr(node.attribution.why));
  EXPECT_TRUE(decision.active);
}

TEST(DisconnectedNode, PossibleHoldersOfOtherOwnersDoNotChangeTheWorkload) {
  NodeSnapshot node = Node("gpu-1", {Llm("llm-a", 60), {.name = "x", .owner = "x", .loads = {5}}});
  node.gpus[1].holders[0].is_possible = true;
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {node});
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).value, 60);
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).unreadable, 0);
}

TEST(DisconnectedNode, PossibleHolderIsReadOnceItsGpuIsKnown) {
  NodeSnapshot node = Node("gpu-1", {Llm("llm-a", 60)});
  node.gpus[0].holders[0].is_possible = true;
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {node});
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).unreadable, 1);
  node.gpus[0].holders[0].is_possible = false;
  fleet.RepeatFor(kLong, {node});
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).unreadable, 0);
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).value, 60);
}

TEST(DisconnectedNode, AllAgentsDisconnectedAreUnavailable) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("gpu-1", {Llm("llm-a", 60)}), Node("gpu-2", {Llm("llm-b", 60)})});
  fleet.Disconnect("gpu-1", "connection refused").Disconnect("gpu-2", "no route to host");
  fleet.RepeatFor(absl::Seconds(20), {});
  const Decision decision = DecidedOn(UtilizationOf("llm"), fleet);
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(MessageOf(decision), HasSubstr("agent of node gpu-1 disconnected for 20s"));
}

TEST(DisconnectedNode, ReconnectedAgentNeedsNewEvidenceOfIdleness) {
  const std::vector<NodeSnapshot> idle = {Node("gpu-1", {Llm("llm-a", 0)})};
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, idle);
  EXPECT_FALSE(DecidedOn(UtilizationOf("llm"), fleet).active);
  fleet.Disconnect("gpu-1", "connection refused").RepeatFor(absl::Seconds(30), {}).Tick(idle);
  EXPECT_TRUE(DecidedOn(UtilizationOf("llm"), fleet).active);
  fleet.RepeatFor(Utilization().activation_window, idle);
  EXPECT_FALSE(DecidedOn(UtilizationOf("llm"), fleet).active);
}

TEST(DisconnectedNode, NewNodeOfOtherPodsKeepsNoWorkloadActive) {
  const NodeSnapshot idle = Node("gpu-1", {Llm("llm-a", 0)});
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {idle}).Tick({idle, Node("gpu-2", {})});
  EXPECT_FALSE(DecidedOn(UtilizationOf("llm"), fleet).active);
}

TEST(DisconnectedNode, UnreachedAgentMakesDecisionsPartial) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("gpu-1", {Llm("llm-a", 60)})}).Unreached("10.0.0.7:6001");
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).value, 60);
  for (const char* name : {"llm", "asleep"}) {
    EXPECT_TRUE(DecidedOn(UtilizationOf(name), fleet).status.ok())
        << DecidedOn(UtilizationOf(name), fleet).status;
    EXPECT_THAT(DecidedOn(UtilizationOf(name), fleet).notes,
                Contains(HasSubstr("1 agent not connected yet: 10.0.0.7:6001")));
  }
}

TEST(DisconnectedNode, FleetWithoutAnyAgentIsNoted) {
  FleetHistory fleet = FleetBuilder().fleet();
  fleet.none_listed = true;
  const Decision decision = Decide(UtilizationOf("llm"), kLlmOfTeamA, fleet, kStaleness);
  EXPECT_TRUE(decision.status.ok());
  EXPECT_FALSE(decision.partial) << "normal where nodes come with their pods";
  EXPECT_THAT(Explain(UtilizationOf("llm"), decision), HasSubstr("note: no agent is listed: "));
}

TEST(DisconnectedNode, EmptyFleetIsIdle) {
  const Decision empty = DecidedOn(UtilizationOf("llm"), FleetBuilder());
  EXPECT_TRUE(empty.status.ok()) << empty.status;
  EXPECT_EQ(empty.value, 0);
  EXPECT_FALSE(empty.active);
  EXPECT_EQ(empty.replicas_from, "pods of llm");
}

TEST(DisconnectedNode, LostOwnersMakeTheirPodsUnreadable) {
  const NodeSnapshot first = Node("gpu-1", {Llm("llm-a", 60)});
  const NodeSnapshot second = Node("gpu-2", {Llm("llm-b", 50)});
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {first, second});
  fleet.RepeatFor(kLong, {first, NodeWithoutOwners(second, "kubelet: connection refused")});
  const Decision decision = DecidedOn(UtilizationOf("llm"), fleet);
  EXPECT_EQ(decision.value, 60 + 80);
  EXPECT_EQ(decision.unreadable, 1);
  EXPECT_TRUE(decision.partial);
  EXPECT_THAT(
      Explain(UtilizationOf("llm"), decision),
      HasSubstr("the holders of the GPUs of node gpu-2 are unknown: kubelet: connection refused"));
  fleet.RepeatFor(
      kLong, {NodeWithoutOwners(first, "no kubelet"), NodeWithoutOwners(second, "no kubelet")});
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), fleet).status.code(), absl::StatusCode::kUnavailable);
}

TEST(DisconnectedNode, OwnersThatWereNeverKnownAreUnavailableNotZero) {
  const NodeSnapshot node = NodeWithoutOwners(Node("gpu-1", {Llm("llm-a", 60)}), "no kubelet");
  const Decision decision = DecidedOn(UtilizationOf("llm"), {node});
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(MessageOf(decision), HasSubstr("node gpu-1 are unknown: no kubelet"));
}

// The holder of each GPU is not known before the GPUs answer.
TEST(DisconnectedNode, PodsOfUnreadableGpusCountTheTargetAndDoNotStartOnceTheseAreRead) {
  Trigger trigger = UtilizationOf("llm");
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
  fleet.RepeatFor(kLong, {first, silent});
  EXPECT_EQ(DecidedOn(trigger, fleet).value, 60 + 2 * 80)
      << Explain(trigger, DecidedOn(trigger, fleet));
  EXPECT_EQ(DecidedOn(trigger, fleet).unreadable, 2);
  fleet.RepeatFor(absl::Minutes(1), {first, second});
  EXPECT_EQ(DecidedOn(trigger, fleet).value, 60 + 50 + 40)
      << Explain(trigger, DecidedOn(trigger, fleet));
  EXPECT_EQ(DecidedOn(trigger, fleet).starting, 0);
}

}  // namespace
}  // namespace gpuscaler
