#include "fleet/namespace_filter.h"

#include "fleet/gpu_wire.h"
#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/free_gpus.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr absl::Duration kFilterHorizon = absl::Minutes(2);

class NamespaceFilterTest : public testing::Test {
 protected:
  // The GPUs have no holders.
  NodeSnapshot Next(int gpus) {
    now_ += absl::Seconds(1);
    NodeSnapshot snapshot = SnapshotOf(gpus, now_);
    snapshot.attribution.state = Attribution::State::kKnown;
    return snapshot;
  }
  static void AddHolder(const std::string& namespace_name, const std::string& name, size_t gpu,
                        NodeSnapshot& snapshot, bool is_possible = false) {
    snapshot.gpus[gpu].holders.push_back(
        {.pod = static_cast<int>(snapshot.pods.size()), .is_possible = is_possible});
    snapshot.pods.push_back({.namespace_name = namespace_name, .name = name});
  }
  static std::vector<bool> Readings(const NodeSnapshot& snapshot) {
    std::vector<bool> has;
    for (const GpuSample& gpu : snapshot.gpus) has.push_back(gpu.utilization_percent.has_value());
    return has;
  }
  static std::vector<std::string> Pods(const NodeSnapshot& snapshot) {
    std::vector<std::string> names;
    for (const Pod& pod : snapshot.pods) names.push_back(pod.name);
    return names;
  }

  absl::Time now_ = absl::FromUnixSeconds(1'767'225'600);
  NamespaceFilter filter_{{"a", "c"}, kFilterHorizon};
};

TEST_F(NamespaceFilterTest, OtherGpusKeepTheirIdentityAlone) {
  NodeSnapshot all = Next(3);
  AddHolder("b", "b-0", 0, all);
  AddHolder("a", "a-0", 1, all);
  const NodeSnapshot part = filter_.Filter(all);
  EXPECT_THAT(Readings(part), ElementsAre(false, true, false));
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(IsSameGpu(part.gpus[i], all.gpus[i])) << i;
  EXPECT_FALSE(part.gpus[0].in_use);
  EXPECT_THAT(part.gpus[0].holders, IsEmpty());
  EXPECT_THAT(Pods(part), ElementsAre("a-0"));
  ASSERT_THAT(part.gpus[1].holders, SizeIs(1));
  EXPECT_EQ(part.gpus[1].holders[0].pod, 0);
  EXPECT_EQ(part.attribution, all.attribution);
}

TEST_F(NamespaceFilterTest, AGpuOfAnotherNamespaceIsNotFree) {
  NodeSnapshot all = Next(3);
  AddHolder("b", "b-0", 0, all);
  AddHolder("a", "a-0", 1, all);
  all.gpus[2].link_group = "nvlink-0";
  MarkFreeGpus(all);
  const NodeSnapshot part = filter_.Filter(all);
  std::vector<std::optional<bool>> free;
  for (const GpuSample& gpu : part.gpus) free.push_back(gpu.is_free);
  EXPECT_THAT(free, ElementsAre(false, false, true));
  EXPECT_EQ(part.gpus[2].link_group, "nvlink-0");
}

TEST_F(NamespaceFilterTest, AllHoldersOfASharedGpuStayBecauseSharesNeedThem) {
  NodeSnapshot all = Next(2);
  AddHolder("b", "b-0", 0, all);
  AddHolder("b", "b-1", 1, all);
  AddHolder("c", "c-0", 1, all);
  const NodeSnapshot part = filter_.Filter(all);
  EXPECT_THAT(Readings(part), ElementsAre(false, true));
  EXPECT_THAT(Pods(part), ElementsAre("b-1", "c-0"));
  EXPECT_EQ(part.gpus[1].holders[0].pod, 0);
  EXPECT_EQ(part.gpus[1].holders[1].pod, 1);
}

TEST_F(NamespaceFilterTest, APossibleHolderCounts) {
  NodeSnapshot all = Next(2);
  AddHolder("b", "b-0", 0, all);
  AddHolder("a", "a-0", 0, all, /*is_possible=*/true);
  EXPECT_THAT(Readings(filter_.Filter(all)), ElementsAre(true, false));
}

TEST_F(NamespaceFilterTest, TheParentOfAnInstanceAndItsSiblingsStay) {
  NodeSnapshot all = Next(4);
  for (const size_t instance : {1, 2}) all.gpus[instance].parent_uuid = all.gpus[0].uuid;
  AddHolder("b", "b-0", 1, all);
  AddHolder("a", "a-0", 2, all);
  EXPECT_THAT(Readings(filter_.Filter(all)), ElementsAre(true, false, true, false));
}

TEST_F(NamespaceFilterTest, AGpuKeepsItsReadingsForTheHorizonAfterItsPodLeft) {
  NodeSnapshot held = Next(1);
  AddHolder("a", "a-0", 0, held);
  filter_.Filter(held);
  const absl::Time left_at = now_;
  NodeSnapshot part;
  do {
    NodeSnapshot taken = Next(1);
    AddHolder("b", "b-0", 0, taken);
    part = filter_.Filter(taken);
  } while (part.gpus[0].utilization_percent);
  EXPECT_EQ(now_ - left_at, kFilterHorizon + absl::Seconds(1));
  EXPECT_THAT(Pods(part), IsEmpty());
}

TEST_F(NamespaceFilterTest, WhileHoldersAreUnknownTheLastKnownOnesCount) {
  NodeSnapshot held = Next(2);
  AddHolder("a", "a-0", 0, held);
  AddHolder("b", "b-0", 1, held);
  filter_.Filter(held);
  now_ += 10 * kFilterHorizon;
  NodeSnapshot unknown = Next(2);
  unknown.attribution.state = Attribution::State::kUnknown;
  EXPECT_THAT(Readings(filter_.Filter(unknown)), ElementsAre(true, false));
}

TEST_F(NamespaceFilterTest, EverythingStaysIfHoldersWereNeverKnown) {
  for (const auto state : {Attribution::State::kUnknown, Attribution::State::kNone}) {
    NodeSnapshot unknown = Next(2);
    unknown.attribution.state = state;
    EXPECT_THAT(Readings(filter_.Filter(unknown)), ElementsAre(true, true));
  }
}

}  // namespace
}  // namespace gpuscaler
