#include "workload/lost_gpus.h"

#include "gtest/gtest.h"
#include "model/unreadable_gpu.h"
#include "workload/test_attributed_node.h"

namespace gpuscaler {
namespace {

class LostGpusTest : public AttributedNode {
 protected:
  // The driver counts only the first GPU.
  NodeSnapshot ReadFirstAlone() {
    NodeSnapshot snapshot{.taken_at = clock_.Now()};
    snapshot.gpus.push_back({.uuid = "GPU-sim-0", .utilization_percent = 50});
    attribution_.Annotate(snapshot);
    return snapshot;
  }
  NodeSnapshot ReadBoth() {
    NodeSnapshot snapshot{.taken_at = clock_.Now()};
    snapshot.gpus.push_back({.uuid = "GPU-sim-0", .utilization_percent = 50});
    snapshot.gpus.push_back({.uuid = "GPU-sim-1", .index = 1, .utilization_percent = 50});
    attribution_.Annotate(snapshot);
    return snapshot;
  }
};

TEST_F(LostGpusTest, LostGpuKeepsItsPodAndIsUnreadable) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  kubelet_.AddPod("shop", "web-1", {Gpu("GPU-sim-1")});
  Query();
  ASSERT_EQ(ReadBoth().gpus.size(), 2);
  const NodeSnapshot lost = ReadFirstAlone();
  ASSERT_EQ(lost.gpus.size(), 2);
  EXPECT_EQ(lost.gpus[1].uuid, "GPU-sim-1");
  EXPECT_EQ(lost.gpus[1].index, 1);
  EXPECT_EQ(lost.gpus[1].utilization_percent, std::nullopt);
  const GpuGap* const gap = FindGap(lost.gpus[1], GpuField::kUtilization);
  ASSERT_NE(gap, nullptr);
  EXPECT_EQ(gap->reason, GpuGap::Reason::kFailed);
  EXPECT_EQ(gap->detail, "the driver no longer counts this GPU");
  ASSERT_EQ(lost.gpus[1].holders.size(), 1);
  EXPECT_EQ(lost.pods.get().at(static_cast<size_t>(lost.gpus[1].holders[0].pod)).name, "web-1");
  EXPECT_EQ(ReadBoth().gpus.size(), 2) << "it is back";
}

TEST_F(LostGpusTest, ClaimIsListedByMinorNumberUnlessAnotherGpuHasIt) {
  kubelet_.AddPod(
      "shop", "web-1",
      {{.container = "main", .resource = "gpu.nvidia.com", .id = "gpu-1", .claim = "shop/web-1"}});
  Query();
  NodeSnapshot both;
  both.gpus.push_back({.uuid = "GPU-sim-0", .minor_number = 0, .utilization_percent = 50});
  both.gpus.push_back({.uuid = "GPU-sim-1", .minor_number = 1, .utilization_percent = 50});
  NodeSnapshot first{.taken_at = clock_.Now(), .gpus = {both.gpus[0]}};
  NodeSnapshot renumbered = first;
  renumbered.gpus[0].minor_number = 1;
  both.taken_at = clock_.Now();
  attribution_.Annotate(both);
  attribution_.Annotate(first);
  ASSERT_EQ(first.gpus.size(), 2);
  EXPECT_EQ(first.gpus[1].uuid, "GPU-sim-1");
  EXPECT_TRUE(IsUnreadable(first.gpus[1]));
  EXPECT_EQ(first.gpus[1].holders.size(), 1);
  attribution_.Annotate(renumbered);
  ASSERT_EQ(renumbered.gpus.size(), 1);
  EXPECT_EQ(renumbered.gpus[0].holders.size(), 1);
}

TEST_F(LostGpusTest, LostGpuWithoutAPodIsGone) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  Query();
  ASSERT_EQ(ReadBoth().gpus.size(), 2);
  EXPECT_EQ(ReadFirstAlone().gpus.size(), 1);
}

constexpr char kNeverSeenUuid[] = "GPU-5d1f4a3c-0b2e-4c6d-9a8f-1e2d3c4b5a69";

// Operators may restart the agent because of a lost GPU.
TEST_F(LostGpusTest, GpuThatThisAgentNeverSawIsUnreadableToo) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  kubelet_.AddPod("shop", "web-1", {Gpu(kNeverSeenUuid)});
  Query();
  const NodeSnapshot lost = ReadFirstAlone();
  ASSERT_EQ(lost.gpus.size(), 2);
  EXPECT_EQ(lost.gpus[1].uuid, kNeverSeenUuid);
  EXPECT_EQ(lost.gpus[1].index, 1);
  EXPECT_TRUE(IsUnreadable(lost.gpus[1]));
  const GpuGap* const gap = FindGap(lost.gpus[1], GpuField::kUtilization);
  ASSERT_NE(gap, nullptr);
  EXPECT_EQ(gap->detail, "the driver no longer counts this GPU");
  ASSERT_EQ(lost.gpus[1].holders.size(), 1);
  EXPECT_EQ(lost.pods.get().at(static_cast<size_t>(lost.gpus[1].holders[0].pod)).name, "web-1");
  EXPECT_EQ(ReadFirstAlone().gpus.size(), 2) << "once";
  kubelet_.SetPods({});
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  Query();
  EXPECT_EQ(ReadFirstAlone().gpus.size(), 1) << "gone with its pod";
}

TEST_F(LostGpusTest, LostGpuOfAmdStaysWithItsPod) {
  kubelet_.AddPod("shop", "web-1",
                  {{.container = "main", .resource = "amd.com/gpu", .id = "0000:19:00.0"}});
  Query();
  NodeSnapshot snapshot{.taken_at = clock_.Now()};
  snapshot.gpus.push_back({.uuid = "GPU-sim-0"});
  snapshot.gpus.push_back({.uuid = "1901e6b24a7a4ae6", .index = 1});
  snapshot.gpus[1].device_ids = {"card1", "0000:19:00.0", "renderD128"};
  snapshot.gpus[1].utilization_percent = 50;
  attribution_.Annotate(snapshot);
  snapshot = {.taken_at = clock_.Now()};
  snapshot.gpus.push_back({.uuid = "GPU-sim-0"});
  attribution_.Annotate(snapshot);
  ASSERT_EQ(snapshot.gpus.size(), 2);
  EXPECT_EQ(snapshot.gpus[1].uuid, "1901e6b24a7a4ae6");
  EXPECT_EQ(snapshot.gpus[1].utilization_percent, std::nullopt);
  EXPECT_EQ(snapshot.gpus[1].holders.size(), 1u);
}

TEST_F(LostGpusTest, AmbiguousDeviceAddsNoGpu) {
  const std::string uuid = kNeverSeenUuid;
  const PodDevice devices[] = {
      {.container = "main", .resource = "nvidia.com/gpu", .id = uuid + "::3"},
      {.container = "main", .resource = "nvidia.com/gpu", .id = uuid + "-3"},
      {.container = "main", .resource = "nvidia.com/gpu", .id = "nvidia3"},
      {.container = "main", .resource = "nvidia.com/gpu", .id = "MIG-" + uuid + "/1/0"},
      {.container = "main", .resource = "nvidia.com/mig-1g.10gb", .id = "MIG-" + uuid.substr(4)},
      {.container = "main", .resource = "example.com/gpu", .id = uuid},
      {.container = "main", .resource = "gpu.nvidia.com", .id = "gpu-3"},
      {.container = "main", .resource = "amd.com/gpu", .id = "0000:19:00.0"},
  };
  for (const PodDevice& device : devices) {
    kubelet_.SetPods({});
    kubelet_.AddPod("shop", "web-1", {device});
    Query();
    EXPECT_EQ(ReadFirstAlone().gpus.size(), 1) << device.resource << " " << device.id;
  }
}

TEST_F(LostGpusTest, GpuIsPresentByItsInstancesInAnyLetterCase) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-SIM-0")});
  kubelet_.AddPod("shop", "web-1", {Gpu(kNeverSeenUuid)});
  Query();
  NodeSnapshot snapshot{.taken_at = clock_.Now()};
  snapshot.gpus.push_back({.uuid = "GPU-sim-0"});
  snapshot.gpus.push_back({.uuid = "MIG-a", .parent_uuid = kNeverSeenUuid});
  attribution_.Annotate(snapshot);
  EXPECT_EQ(snapshot.gpus.size(), 2);
}

TEST_F(LostGpusTest, GpuWithoutAUuidMayBeTheListedOne) {
  kubelet_.AddPod("shop", "web-1", {Gpu(kNeverSeenUuid)});
  Query();
  never_answered_ = 1;
  EXPECT_EQ(Read().gpus.size(), 3);
}

}  // namespace
}  // namespace gpuscaler
