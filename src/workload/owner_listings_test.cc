#include "workload/owner_listings.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'767'225'600);
const std::vector<PodOwner> kWeb = {{"Deployment", "web"}, {"Rollout", "web"}};

PodAllocation Listed(const char* name, const std::vector<PodOwner>& owners, absl::Time since) {
  return {.pod = {.namespace_name = "shop", .name = name, .owners = owners, .listed_since = since}};
}

class OwnerListingsTest : public testing::Test {
 protected:
  // The owner's time by the first pod of a list, in minutes after the start.
  int64_t Update(int minute, std::vector<PodAllocation> pods) {
    listings_.Update(pods, At(minute));
    const auto since = pods.empty() ? std::nullopt : pods[0].pod.owner_listed_since;
    return since ? absl::ToInt64Minutes(*since - kStart) : -1;
  }
  static absl::Time At(int minute) { return kStart + absl::Minutes(minute); }

  OwnerListings listings_;
};

TEST_F(OwnerListingsTest, TimeOutlivesARollout) {
  EXPECT_EQ(Update(0, {Listed("web-1", kWeb, At(0))}), 0);
  EXPECT_EQ(Update(60, {Listed("web-2", kWeb, At(60)), Listed("web-1", kWeb, At(0))}), 0);
  EXPECT_EQ(Update(61, {Listed("web-2", kWeb, At(60))}), 0);
  EXPECT_EQ(Update(600, {Listed("web-2", kWeb, At(60))}), 0);
}

TEST_F(OwnerListingsTest, ReplicaSetsOfADeploymentShareItsTime) {
  const PodOwner deployment{"Deployment", "web"};
  EXPECT_EQ(Update(0, {Listed("web-1", {{"ReplicaSet", "web-1"}, deployment}, At(0))}), 0);
  EXPECT_EQ(Update(5, {Listed("web-2", {{"ReplicaSet", "web-2"}, deployment}, At(5))}), 0);
}

TEST_F(OwnerListingsTest, GapUpToTheGraceDoesNotCount) {
  EXPECT_EQ(Update(0, {Listed("web-1", kWeb, At(0))}), 0);
  Update(60, {});
  EXPECT_EQ(Update(75, {Listed("web-2", kWeb, At(75))}), 0);
  Update(76, {});
  EXPECT_EQ(Update(92, {Listed("web-3", kWeb, At(92))}), 92) << "the gap was longer";
}

TEST_F(OwnerListingsTest, TimeOfAnotherProcessCountsIfItIsEarlier) {
  const auto former = [](int minute) {
    Pod pod = Listed("web-1", kWeb, At(0)).pod;
    pod.owner_listed_since = At(minute);
    return std::vector<Pod>{pod};
  };
  EXPECT_EQ(Update(60, {Listed("web-1", kWeb, At(60))}), 60);
  listings_.Add(former(0), At(61));
  EXPECT_EQ(Update(61, {Listed("web-1", kWeb, At(60))}), 0);
  listings_.Add(former(30), At(62));
  EXPECT_EQ(Update(62, {Listed("web-1", kWeb, At(60))}), 0);
  EXPECT_EQ(Update(62, {Listed("note", {{"Job", "note"}}, At(62))}), 62);
}

TEST_F(OwnerListingsTest, OwnerOfAnotherProcessHasTheGraceForItsNextPod) {
  Pod pod = Listed("web-1", kWeb, At(0)).pod;
  pod.owner_listed_since = At(0);
  listings_.Add({pod}, At(60));
  EXPECT_EQ(Update(75, {Listed("web-2", kWeb, At(75))}), 0);
  pod.namespace_name = "team-a";
  listings_.Add({pod}, At(75));
  PodAllocation next = Listed("web-3", kWeb, At(92));
  next.pod.namespace_name = "team-a";
  Update(91, {});
  EXPECT_EQ(Update(92, {next}), 92) << "the gap was longer";
}

TEST_F(OwnerListingsTest, TimeWithoutAnyListIsNoGap) {
  EXPECT_EQ(Update(0, {Listed("web-1", kWeb, At(0))}), 0);
  EXPECT_EQ(Update(100, {Listed("web-2", kWeb, At(100))}), 0);
}

TEST_F(OwnerListingsTest, OwnersOfANamespaceAndKindAreTheirOwn) {
  EXPECT_EQ(Update(0, {Listed("web-1", kWeb, At(0))}), 0);
  PodAllocation elsewhere = Listed("web-2", kWeb, At(5));
  elsewhere.pod.namespace_name = "team-a";
  EXPECT_EQ(Update(5, {elsewhere}), 5);
  EXPECT_EQ(Update(6, {Listed("web-0", {{"StatefulSet", "web"}}, At(6))}), 6);
}

TEST_F(OwnerListingsTest, PodWithoutAnOwnerOrATimeHasNone) {
  EXPECT_EQ(Update(0, {Listed("note", {}, At(0))}), -1);
  PodAllocation pod = Listed("web-1", kWeb, At(0));
  pod.pod.listed_since.reset();
  EXPECT_EQ(Update(0, {pod}), -1);
}

TEST_F(OwnerListingsTest, OwnersGoneLongestAreDroppedFirst) {
  Update(0, {Listed("web-1", kWeb, At(0))});
  for (int i = 0; i < static_cast<int>(kMaxOwners); ++i) {
    const std::string job = absl::StrCat("job-", i);
    std::vector<PodAllocation> pods = {Listed("job", {{"Job", job}}, At(1))};
    listings_.Update(pods, At(1) + i * absl::Milliseconds(1));
  }
  EXPECT_EQ(Update(2, {Listed("job", {{"Job", "job-998"}}, At(2))}), 1);
  EXPECT_EQ(Update(3, {Listed("web-2", kWeb, At(3))}), 3);
}

TEST_F(OwnerListingsTest, OwnersWithPodsAreNeverDropped) {
  std::vector<PodAllocation> pods;
  for (size_t i = 0; i <= kMaxOwners; ++i) {
    pods.push_back(Listed("job", {{"Job", absl::StrCat("job-", i)}}, At(0)));
  }
  Update(0, pods);
  for (PodAllocation& pod : pods) pod.pod.listed_since = At(1);
  listings_.Update(pods, At(1));
  for (const PodAllocation& pod : pods) EXPECT_EQ(pod.pod.owner_listed_since, At(0));
}

}  // namespace
}  // namespace gpuscaler
