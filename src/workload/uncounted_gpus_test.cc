#include "workload/uncounted_gpus.h"

#include "gtest/gtest.h"
#include "workload/attributed_node.h"

namespace gpuscaler {
namespace {

class UncountedGpusTest : public AttributedNode {
 protected:
  // A reading in which the driver counts only the first GPU.
  NodeSnapshot ReadFirstAlone() {
    NodeSnapshot snapshot{.taken_at = clock_.Now()};
    snapshot.gpus.push_back({.uuid = "GPU-sim-0", .utilization_percent = 50});
    attribution_.Annotate(snapshot);
    return snapshot;
  }
  // Both GPUs, with a reading each.
  NodeSnapshot ReadBoth() {
    NodeSnapshot snapshot{.taken_at = clock_.Now()};
    snapshot.gpus.push_back({.uuid = "GPU-sim-0", .utilization_percent = 50});
    snapshot.gpus.push_back({.uuid = "GPU-sim-1", .index = 1, .utilization_percent = 50});
    attribution_.Annotate(snapshot);
    return snapshot;
  }
};

TEST_F(UncountedGpusTest, AGpuThatTheDriverNoLongerCountsStaysWithItsPodAndCannotBeRead) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  kubelet_.AddPod("shop", "web-1", {Gpu("GPU-sim-1")});
  Ask();
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
  EXPECT_EQ(lost.pods.at(static_cast<size_t>(lost.gpus[1].holders[0].pod)).name, "web-1");
  EXPECT_EQ(ReadBoth().gpus.size(), 2) << "it is back";
}

TEST_F(UncountedGpusTest, AGpuThatNoPodIsListedWithIsGone) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  Ask();
  ASSERT_EQ(ReadBoth().gpus.size(), 2);
  EXPECT_EQ(ReadFirstAlone().gpus.size(), 1);
}

TEST_F(UncountedGpusTest, AGpuThatWasNeverSeenIsNotMadeUp) {
  kubelet_.AddPod("shop", "web-1", {Gpu("GPU-sim-1")});
  Ask();
  EXPECT_EQ(ReadFirstAlone().gpus.size(), 1);
}

}  // namespace
}  // namespace gpuscaler
