#include "scaling/replica_room.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/free_gpus.h"
#include "scaling/test_decided_fleet.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;

// Adds GPUs without a pod, in the link group.
NodeSnapshot WithFree(int gpus, const std::string& link_group, NodeSnapshot node) {
  for (int i = 0; i < gpus; ++i) {
    GpuSample gpu = FreeGpu(static_cast<int>(node.gpus.size()));
    gpu.uuid = absl::StrCat("free:", node.node, ":", gpu.index);
    gpu.link_group = link_group;
    node.gpus.push_back(std::move(gpu));
  }
  return node;
}

// A replica of llm with so many busy GPUs, all in one link group.
NodeSnapshot LinkedReplica(size_t gpus, const std::string& link_group) {
  NodeSnapshot node = Node("gpu-1", {{.name = "llm-a",
                                      .owner = "llm",
                                      .loads = std::vector<double>(gpus, 100.0),
                                      .ready = true}});
  for (GpuSample& gpu : node.gpus.Own()) gpu.link_group = link_group;
  return node;
}

// The sentence after the nodes were in this state for longer than any window.
std::string NoRoomOn(std::vector<NodeSnapshot> nodes, double target = 80) {
  for (NodeSnapshot& node : nodes) MarkFreeGpus(node);
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, nodes);
  Trigger trigger = UtilizationOf("llm");
  trigger.target = target;
  return WhyNoRoom(trigger, DecidedOn(trigger, fleet), fleet.fleet(), kStaleness);
}

TEST(WhyNoRoom, IsSilentIfTheReplicasFit) {
  EXPECT_EQ(NoRoomOn({WithFree(4, "b", LinkedReplica(4, "a"))}), "");
}

TEST(WhyNoRoom, IsSilentIfNoMoreReplicasAreAskedFor) {
  EXPECT_EQ(NoRoomOn({LinkedReplica(4, "a")}, /*target=*/100), "");
}

TEST(WhyNoRoom, NamesTheReplicasTheirSizeAndTheFreeGpus) {
  EXPECT_EQ(
      NoRoomOn({LinkedReplica(4, "a"), WithFree(2, "a", Node("gpu-2", {})),
                WithFree(1, "", Node("gpu-3", {}))},
               /*target=*/40),
      "2 more replicas of 4 linked GPUs are requested, and there is room for 0: 3 free in 1+2");
}

TEST(WhyNoRoom, EnoughGpusInGroupsThatAreTooSmallAreNoRoom) {
  const auto fragments = [](const std::string& group) {
    return NoRoomOn(
        {LinkedReplica(4, group), WithFree(2, "b", WithFree(2, "c", Node("gpu-2", {})))});
  };
  EXPECT_THAT(fragments("a"), HasSubstr("there is room for 0: 4 free in 2+2"));
  EXPECT_EQ(fragments(""), "") << "a workload without links needs none";
}

TEST(WhyNoRoom, ReplicasWithASingleGpuNeedNoGroup) {
  EXPECT_EQ(NoRoomOn({LinkedReplica(1, "a"), WithFree(1, "", Node("gpu-2", {}))}, /*target=*/40),
            "2 more replicas of 1 GPU are requested, and there is room for 1: 1 free in 1");
}

TEST(WhyNoRoom, IsSilentAboutParts) {
  NodeSnapshot shared = Node("gpu-1", {Llm("llm-a", 100)});
  shared.pods.push_back(shared.pods.front());
  shared.pods.back().name = "other-a";
  shared.gpus[0].holders.push_back({.pod = 1, .container = "main", .share = 0});
  EXPECT_EQ(NoRoomOn({shared}, /*target=*/40), "");
}

TEST(WhyNoRoom, UnknownGpusAreNotTakenForHeldOnes) {
  NodeSnapshot unknown =
      NodeWithoutOwners(WithFree(2, "a", Node("gpu-2", {})), "the kubelet does not answer");
  EXPECT_THAT(NoRoomOn({LinkedReplica(4, "a"), unknown}),
              HasSubstr("room for 0: none free; unknown whether 2 more GPUs are free"));
}

}  // namespace
}  // namespace gpuscaler
