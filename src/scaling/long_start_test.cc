// A pod that is not Ready keeps its workload active for 30 minutes from when it was first listed.
// That depends neither on the history of its node, nor on what its GPU does meanwhile.
#include "gtest/gtest.h"
#include "scaling/test_decided_fleet.h"

namespace gpuscaler {
namespace {

// How long aggregators remember holders of GPUs.
constexpr absl::Duration kRemembered = absl::Minutes(15);

GpuPod NotReady(const char* name, std::optional<absl::Time> listed_since) {
  return {.name = name, .owner = "llm", .loads = {0}, .ready = false, .listed_since = listed_since};
}

NodeSnapshot WithUnusedGpus(NodeSnapshot node) {
  for (GpuSample& gpu : node.gpus.Own()) gpu.in_use = false;
  return node;
}

bool IsActive(const FleetBuilder& fleet) { return DecidedOn(UtilizationOf("llm"), fleet).active; }

TEST(LongStart, PodListedAfterAKubeletOutageIsStarting) {
  for (const bool is_reported : {true, false}) {
    for (const int silent_minutes : {2, 10, 40}) {
      SCOPED_TRACE(testing::Message()
                   << "reported " << is_reported << ", outage of minutes " << silent_minutes);
      FleetBuilder fleet;
      const NodeSnapshot empty = WithUnusedGpus(Node("gpu-1", {{.name = "x", .loads = {0}}}));
      NodeSnapshot before = empty;
      before.pods.clear();
      before.gpus[0].holders.clear();
      fleet.Remember(kRemembered).RepeatFor(absl::Minutes(70 - silent_minutes), {before});
      fleet.RepeatFor(absl::Minutes(silent_minutes),
                      {NodeWithoutOwners(empty, "the kubelet does not answer")});
      const auto listed = is_reported ? std::optional(fleet.now() + kTick) : std::nullopt;
      NodeSnapshot started = WithUnusedGpus(Node("gpu-1", {NotReady("llm-a", listed)}));
      started.gpus[0].uuid = empty.gpus[0].uuid;
      fleet.RepeatFor(absl::Minutes(1), {started});
      EXPECT_TRUE(IsActive(fleet));
      fleet.RepeatFor(absl::Minutes(28), {started});
      EXPECT_TRUE(IsActive(fleet));
      fleet.RepeatFor(absl::Minutes(2), {started});
      EXPECT_FALSE(IsActive(fleet));
    }
  }
}

// Its container starts every 5 minutes, and has the GPU for one of them.
TEST(LongStart, RestartsOfAContainerAreNoNewStart) {
  FleetBuilder fleet;
  const auto listed = fleet.now() + kTick;
  for (const int minute : {25, 70}) {
    while (fleet.now() - listed < absl::Minutes(minute)) {
      NodeSnapshot loads = Node("gpu-1", {NotReady("llm-a", listed)});
      loads.gpus[0].held_since = fleet.now() + kTick;
      fleet.Remember(kRemembered).RepeatFor(absl::Minutes(1), {loads});
      NodeSnapshot waits = WithUnusedGpus(loads);
      waits.gpus[0].held_since = fleet.now() + kTick;
      fleet.RepeatFor(absl::Minutes(4), {waits});
    }
    EXPECT_EQ(IsActive(fleet), minute < 30) << minute;
  }
}

TEST(LongStart, OtherPodsThatComeAndGoAreNoNewStart) {
  FleetBuilder fleet;
  const auto listed = fleet.now() + kTick;
  for (const int minute : {25, 70}) {
    for (int i = 0; fleet.now() - listed < absl::Minutes(minute); ++i) {
      fleet.Remember(kRemembered)
          .RepeatFor(
              absl::Minutes(5),
              {Node("gpu-1", {NotReady("llm-a", listed),
                              {.name = i % 2 == 0 ? "x-a" : "x-b", .owner = "x", .loads = {50}}})});
    }
    EXPECT_EQ(IsActive(fleet), minute < 30) << minute;
  }
}

TEST(LongStart, PreviousHolderOfTheGpuDoesNotEndIt) {
  FleetBuilder fleet;
  fleet.Remember(kRemembered);
  NodeSnapshot before = Node("gpu-1", {{.name = "x-a", .owner = "x", .loads = {50}}});
  before.gpus[0].held_since = fleet.now() + kTick;
  fleet.RepeatFor(absl::Minutes(60), {before});
  NodeSnapshot started = Node("gpu-1", {NotReady("llm-a", fleet.now() + kTick)});
  started.gpus[0].uuid = before.gpus[0].uuid;
  started.gpus[0].held_since = before.gpus[0].held_since;
  started.gpus[0].in_use = false;
  for (int minute = 1; minute < 30; ++minute) {
    // A new reading each minute, so that runs which ended are forgotten.
    started.gpus[0].power_watts = minute;
    fleet.RepeatFor(absl::Minutes(1), {started});
    EXPECT_TRUE(IsActive(fleet)) << minute;
  }
  fleet.RepeatFor(absl::Minutes(2), {started});
  EXPECT_FALSE(IsActive(fleet));
}

TEST(LongStart, GroupStartsWithItsNewestPod) {
  const auto group = [](const char* name, absl::Time listed_since) {
    return GpuPod{.name = name,
                  .owner = "LeaderWorkerSet/llm",
                  .loads = {0},
                  .ready = false,
                  .group = "llm-0",
                  .listed_since = listed_since};
  };
  FleetBuilder fleet;
  const GpuPod leader = group("llm-0", fleet.now() + kTick);
  fleet.RepeatFor(absl::Minutes(20), {Node("gpu-1", {leader}), Node("gpu-2", {})});
  const GpuPod worker = group("llm-0-1", fleet.now() + kTick);
  const std::vector<NodeSnapshot> both = {Node("gpu-1", {leader}), Node("gpu-2", {worker})};
  fleet.RepeatFor(absl::Minutes(29), both);
  EXPECT_TRUE(IsActive(fleet));
  fleet.RepeatFor(absl::Minutes(2), both);
  EXPECT_FALSE(IsActive(fleet));
}

// Its agent restarted: 30 minutes at most from then on.
TEST(LongStart, LastListingTimeFromTheNodeCounts) {
  FleetBuilder fleet;
  const std::vector<NodeSnapshot> first = {Node("gpu-1", {NotReady("llm-a", fleet.now() + kTick)})};
  fleet.RepeatFor(absl::Minutes(29), first);
  const std::vector<NodeSnapshot> anew = {Node("gpu-1", {NotReady("llm-a", fleet.now() + kTick)})};
  fleet.RepeatFor(absl::Minutes(29), anew);
  EXPECT_TRUE(IsActive(fleet));
  fleet.RepeatFor(absl::Minutes(2), anew);
  EXPECT_FALSE(IsActive(fleet));
}

// Agents of earlier versions do not send `listed_since`.
TEST(LongStart, PodOfAnOlderAgentStartsWhenItWasFirstFound) {
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {Node("gpu-1", {Llm("llm-z", 0)})});
  const std::vector<NodeSnapshot> started = {Node("gpu-1", {NotReady("llm-a", std::nullopt)})};
  fleet.RepeatFor(absl::Minutes(29), started);
  EXPECT_TRUE(IsActive(fleet));
  fleet.RepeatFor(absl::Minutes(2), started);
  EXPECT_FALSE(IsActive(fleet));
}

}  // namespace
}  // namespace gpuscaler
