#include "model/free_gpus.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// A node with known holders. Its GPUs are readable and have none.
NodeSnapshot NodeWith(int gpus, const std::string& node = "gpu-a") {
  NodeSnapshot snapshot{.node = node, .attribution = {.state = Attribution::State::kKnown}};
  for (int i = 0; i < gpus; ++i) {
    snapshot.gpus.push_back(
        {.uuid = absl::StrCat("GPU-", node, "-", i), .index = i, .utilization_percent = 0});
  }
  return snapshot;
}

// Adds a pod that holds these GPUs of the node.
void AddPod(const std::vector<size_t>& gpus, NodeSnapshot& snapshot, bool is_possible = false) {
  for (const size_t gpu : gpus) {
    snapshot.gpus[gpu].holders.push_back(
        {.pod = static_cast<int>(snapshot.pods.size()), .is_possible = is_possible});
  }
  snapshot.pods.push_back(
      {.namespace_name = "shop", .name = absl::StrCat("web-", snapshot.pods.size())});
}

void LinkAll(const std::vector<size_t>& gpus, const std::string& group, NodeSnapshot& snapshot) {
  for (const size_t gpu : gpus) snapshot.gpus[gpu].link_group = group;
}

std::vector<std::optional<bool>> Marked(NodeSnapshot snapshot) {
  MarkFreeGpus(snapshot);
  std::vector<std::optional<bool>> marks;
  for (const GpuSample& gpu : snapshot.gpus) marks.push_back(gpu.is_free);
  return marks;
}

// Free GPUs of one node for each part, in groups of their own.
FreeGpus Parts(const std::vector<int>& parts) {
  FreeGpus free;
  for (const int gpus : parts) {
    free.groups.push_back({absl::StrCat("node-", free.groups.size()), "nvlink-0", gpus});
  }
  return free;
}

TEST(MarkFreeGpus, AGpuIsFreeIfNoPodHoldsIt) {
  NodeSnapshot node = NodeWith(2);
  AddPod({0}, node);
  EXPECT_THAT(Marked(node), ElementsAre(false, true));
}

TEST(MarkFreeGpus, UnknownHoldersAreNotTakenForNone) {
  NodeSnapshot node = NodeWith(1);
  for (const auto state : {Attribution::State::kUnknown, Attribution::State::kNone}) {
    node.attribution.state = state;
    EXPECT_THAT(Marked(node), ElementsAre(std::nullopt)) << static_cast<int>(state);
  }
}

TEST(MarkFreeGpus, AGpuWithAPossibleHolderAloneMayBeFree) {
  NodeSnapshot node = NodeWith(2);
  AddPod({0, 1}, node, /*is_possible=*/true);
  AddPod({1}, node);
  EXPECT_THAT(Marked(node), ElementsAre(std::nullopt, false));
}

TEST(MarkFreeGpus, AGpuThatDoesNotAnswerMayBeLost) {
  NodeSnapshot node = NodeWith(1);
  node.gpus[0].utilization_percent.reset();
  EXPECT_THAT(Marked(node), ElementsAre(std::nullopt));
}

TEST(MarkFreeGpus, AUseWithoutAPodLeavesTheGpuFreeAsTheKubeletSeesIt) {
  NodeSnapshot node = NodeWith(1);
  node.gpus[0].in_use = true;
  EXPECT_THAT(Marked(node), ElementsAre(true));
}

TEST(MarkFreeGpus, ADividedGpuAndItsInstancesAreNeverFree) {
  NodeSnapshot node = NodeWith(4);
  node.gpus[1].parent_uuid = node.gpus[0].uuid;
  node.gpus[2].is_in_mig_mode = true;  // its instances are hidden
  EXPECT_THAT(Marked(node), ElementsAre(false, false, false, true));
}

TEST(FreeGpus, AreCountedByNodeAndLinkGroup) {
  NodeSnapshot a = NodeWith(5);
  LinkAll({0, 1}, "nvlink-0", a);
  LinkAll({2, 3}, "nvlink-1", a);
  AddPod({0, 1, 2}, a);
  NodeSnapshot b = NodeWith(2, "gpu-b");
  b.attribution.state = Attribution::State::kUnknown;
  FreeGpus free;
  for (NodeSnapshot* const node : {&a, &b}) {
    MarkFreeGpus(*node);
    free.Add(*node);
  }
  std::vector<std::string> groups;
  for (const FreeGroup& group : free.groups) {
    groups.push_back(absl::StrCat(group.node, " ", group.link_group, " ", group.gpus));
  }
  EXPECT_THAT(groups, ElementsAre("gpu-a  1", "gpu-a nvlink-0 0", "gpu-a nvlink-1 1"));
  EXPECT_EQ(free.unknown, 2);
  EXPECT_EQ(CountFree(free), 2);
  EXPECT_EQ(LargestGroup(free), 1);
  free.AddUnknown(NodeWith(3, "gpu-c"));
  EXPECT_EQ(free.unknown, 5);
}

TEST(WholeGpusOfPods, HasNoPodThatSharesAGpuOrHoldsAPartOfOne) {
  NodeSnapshot node = NodeWith(7);
  LinkAll({0, 1, 2, 3}, "nvlink-0", node);
  AddPod({0, 1}, node);
  AddPod({2, 4}, node);
  AddPod({3}, node);
  AddPod({3}, node);
  node.gpus[6].parent_uuid = node.gpus[5].uuid;
  AddPod({6}, node);
  const std::vector<WholeGpus> pods = WholeGpusOfPods(node);
  ASSERT_THAT(pods, SizeIs(2));
  EXPECT_THAT(pods[0].uuids, ElementsAre("GPU-gpu-a-0", "GPU-gpu-a-1"));
  EXPECT_TRUE(pods[0].are_linked);
  EXPECT_THAT(pods[1].uuids, ElementsAre("GPU-gpu-a-2", "GPU-gpu-a-4"));
  EXPECT_FALSE(pods[1].are_linked) << "one of them is in no group";
}

TEST(WholeGpusOfPods, TwoContainersOfAPodHoldItsGpuTogether) {
  NodeSnapshot node = NodeWith(1);
  AddPod({0}, node);
  node.gpus[0].holders.push_back({.pod = 0, .container = "sidecar"});
  EXPECT_THAT(WholeGpusOfPods(node), SizeIs(1));
}

TEST(WholeGpusOfPods, HasNoPodThatMayHoldAnotherGpu) {
  NodeSnapshot node = NodeWith(2);
  AddPod({0, 1}, node, /*is_possible=*/true);
  EXPECT_THAT(WholeGpusOfPods(node), IsEmpty());
}

TEST(RoomFor, CountsReplicasThatFitAtOnce) {
  const struct {
    const char* name;
    std::vector<int> parts;
    std::vector<int> pods;
    int want;
  } rows[] = {
      {"none free", {}, {1}, 0},
      {"single GPUs", {1, 1, 2, 4}, {1}, 8},
      {"pairs", {1, 1, 2, 4}, {2}, 3},
      {"fours", {1, 1, 2, 4}, {4}, 1},
      {"three twos are no four", {2, 2, 2}, {4}, 0},
      {"more than any part", {4, 4}, {8}, 0},
      {"a group of pods on two nodes", {8, 8, 4}, {8, 8}, 1},
      {"the larger pod first", {2, 4}, {2, 4}, 1},
      {"no pod", {4}, {}, 0},
      {"a pod without a GPU", {4}, {4, 0}, 0},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(RoomFor({.pods = row.pods, .linked = true}, Parts(row.parts)), row.want) << row.name;
  }
}

TEST(RoomFor, GpusWithoutARequiredLinkMayBeOfSeveralGroupsOfANode) {
  FreeGpus free;
  free.groups = {{"gpu-a", "nvlink-0", 2}, {"gpu-a", "nvlink-1", 2}, {"gpu-b", "", 2}};
  EXPECT_EQ(RoomFor({.pods = {4}, .linked = true}, free), 0);
  EXPECT_EQ(RoomFor({.pods = {4}, .linked = false}, free), 1);
}

TEST(FreeText, ListsThePartsInAscendingOrder) {
  EXPECT_EQ(FreeText(Parts({}), true), "none free");
  EXPECT_EQ(FreeText(Parts({0}), true), "none free");
  EXPECT_EQ(FreeText(Parts({4, 1, 2, 0, 1}), true), "8 free in 1+1+2+4");
  EXPECT_EQ(FreeText(Parts({1, 1, 1, 1, 1, 1, 1, 1, 8, 8}), true), "24 free in 8x1+2x8");
  FreeGpus free;
  free.groups = {{"gpu-a", "nvlink-0", 2}, {"gpu-a", "nvlink-1", 2}};
  EXPECT_EQ(FreeText(free, false), "4 free in 4");
}

}  // namespace
}  // namespace gpuscaler
