#include "workload/unread_gpus.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workload/test_attributed_node.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class UnreadGpusTest : public AttributedNode {
 protected:
  static PodDevice Intel(const std::string& id,
                         const std::string& resource = "gpu.intel.com/i915") {
    return {.container = "main", .resource = resource, .id = id};
  }
};

TEST_F(UnreadGpusTest, HeldGpuOfIntelsHasItsPodsAndNoValue) {
  kubelet_.AddPod("shop", "web-0", {Intel("card0-0")});
  kubelet_.AddPod("shop", "web-1", {Intel("card0-1")});
  kubelet_.AddPod("shop", "web-2", {Gpu("GPU-sim-0")});
  Query();
  const NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.gpus.size(), 3);
  const GpuSample& intel = snapshot.gpus[2];
  EXPECT_EQ(intel.uuid, "Intel-card0");
  EXPECT_EQ(intel.name, "Intel card0, which is not read");
  EXPECT_EQ(intel.index, 2);
  EXPECT_EQ(intel.utilization_percent, std::nullopt);
  EXPECT_THAT(intel.gaps, IsEmpty()) << "it is not read at all, and not for a moment";
  ASSERT_EQ(intel.holders.size(), 2);
  EXPECT_EQ(intel.holders[0].share, 0.5);
  EXPECT_EQ(snapshot.gpus[0].holders.size(), 1);
  EXPECT_THAT(snapshot.gpus[1].holders, IsEmpty());
  EXPECT_THAT(log_, testing::Not(HasSubstr("device_unmatched")));
}

TEST_F(UnreadGpusTest, ClaimedGpuOfIntelsIsHeldToo) {
  kubelet_.AddPod("shop", "web-0", {Intel("0000-03-00-0-0xe20b", "gpu.intel.com")});
  Query();
  const NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.gpus.size(), 3);
  EXPECT_EQ(snapshot.gpus[2].uuid, "Intel-0000-03-00-0-0xe20b");
  EXPECT_EQ(snapshot.gpus[2].holders.size(), 1);
}

TEST_F(UnreadGpusTest, GpuOfIntelsIsNoPlaceForNvidiasDevices) {
  kubelet_.AddPod("shop", "web-0", {Intel("card0-0")});
  kubelet_.AddPod("shop", "web-1", {Gpu("all")});
  Query();
  const NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.gpus.size(), 3);
  EXPECT_EQ(snapshot.gpus[0].holders.size(), 1);
  ASSERT_EQ(snapshot.gpus[2].holders.size(), 1);
  EXPECT_EQ(snapshot.pods[static_cast<size_t>(snapshot.gpus[2].holders[0].pod)].name, "web-0");
}

TEST_F(UnreadGpusTest, FreeGpusOfIntelsAreNotListed) {
  kubelet_.AddPod("shop", "web-0", {Intel("all", "gpu.intel.com/monitoring")});
  Query();
  EXPECT_EQ(Read().gpus.size(), 2);
}

}  // namespace
}  // namespace gpuscaler
