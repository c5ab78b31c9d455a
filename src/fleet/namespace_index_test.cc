#include "fleet/namespace_index.h"

#include <map>

#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const absl::Time kIndexStart = absl::FromUnixSeconds(1'767'225'600);

NodeSnapshot With(const std::vector<std::string>& namespaces, int seconds = 0) {
  NodeSnapshot snapshot = SnapshotOf(1, kIndexStart + absl::Seconds(seconds));
  snapshot.attribution.state = Attribution::State::kKnown;
  for (const std::string& name : namespaces) {
    snapshot.pods.push_back({.namespace_name = name, .name = "pod"});
  }
  return snapshot;
}

class NamespaceIndexTest : public testing::Test {
 protected:
  // The node's next readings, told at once.
  void Changed(const std::string& node, const std::vector<NodeSnapshot>& snapshots,
               int64_t generation) {
    for (const NodeSnapshot& snapshot : snapshots) histories_[node].Append(snapshot, limits_);
    index_.Changed(node, histories_[node], generation);
  }
  // The newest reading was found unchanged, once a second.
  void Unchanged(const std::string& node, int until_seconds, int64_t generation) {
    NodeHistory& history = histories_[node];
    while (history.NewestAt() < kIndexStart + absl::Seconds(until_seconds)) {
      history.Extend(history.NewestAt() + absl::Seconds(1), limits_);
    }
    index_.Changed(node, history, generation);
  }

  NodeHistory::Limits limits_{.horizon = absl::Minutes(15), .join_within = absl::Seconds(5)};
  std::map<std::string, NodeHistory> histories_;
  NamespaceIndex index_{limits_.horizon};
};

TEST_F(NamespaceIndexTest, NamespaceSeesTheNodesOfItsPodsOnly) {
  Changed("gpu-1", {With({"a", "b"})}, 1);
  Changed("gpu-2", {With({"b"})}, 2);
  EXPECT_THAT(index_.Of({"a"}).names, ElementsAre("gpu-1"));
  EXPECT_THAT(index_.Of({"b"}).names, ElementsAre("gpu-1", "gpu-2"));
  EXPECT_THAT(index_.Of({"c"}).names, IsEmpty());
  EXPECT_THAT(index_.Of({"c", "a"}).names, ElementsAre("gpu-1")) << "a wall that was opened";
}

TEST_F(NamespaceIndexTest, OtherNamespacesChangeNothing) {
  Changed("gpu-1", {With({"a"})}, 1);
  Changed("gpu-2", {With({"b"})}, 2);
  EXPECT_EQ(index_.Of({"a"}).generation, 1);
  Changed("gpu-1", {With({"a"}, 1)}, 3);
  EXPECT_EQ(index_.Of({"a"}).generation, 3);
  EXPECT_EQ(index_.Of({"b"}).generation, 2);
}

TEST_F(NamespaceIndexTest, TellsWhoseNodesHaveChangedSince) {
  Changed("gpu-1", {With({"a", "b"})}, 1);
  Changed("gpu-2", {With({"c"})}, 2);
  Changed("gpu-1", {With({"b"}, 1)}, 3);
  EXPECT_THAT(index_.ChangedSince(0), UnorderedElementsAre("a", "b", "c"));
  EXPECT_THAT(index_.ChangedSince(2), UnorderedElementsAre("a", "b"))
      << "the node is still looked back on by a";
  EXPECT_THAT(index_.ChangedSince(3), IsEmpty());
  index_.Removed("gpu-2", 4);
  EXPECT_THAT(index_.ChangedSince(3), ElementsAre("c"));
  EXPECT_FALSE(index_.UnattributedChangedSince(1)) << "but for the first that asks its kubelet";
}

TEST_F(NamespaceIndexTest, NodeStaysForTheHorizonAfterItsLastPod) {
  Changed("gpu-1", {With({"a"}, 0)}, 1);
  Changed("gpu-1", {With({}, 900)}, 2);
  EXPECT_THAT(index_.Of({"a"}).names, ElementsAre("gpu-1"));
  Changed("gpu-1", {With({}, 901)}, 3);
  EXPECT_THAT(index_.Of({"a"}).names, IsEmpty());
  EXPECT_EQ(index_.Of({"a"}).generation, 3) << "that it has left is a change";
}

TEST_F(NamespaceIndexTest, WhoLeftWithinWhatIsToldAtOnceIsLookedBackOn) {
  Changed("gpu-1", {With({"a"}, 0), With({"b"}, 100), With({}, 200)}, 1);
  EXPECT_THAT(index_.Of({"a"}).names, ElementsAre("gpu-1"));
  EXPECT_THAT(index_.Of({"b"}).names, ElementsAre("gpu-1"));
  Changed("gpu-1", {With({}, 950)}, 2);
  EXPECT_THAT(index_.Of({"a"}).names, IsEmpty());
  EXPECT_THAT(index_.Of({"b"}).names, ElementsAre("gpu-1"));
}

TEST_F(NamespaceIndexTest, WhoLeftBeforeTheReadingsThatAreKeptIsLookedBackOn) {
  limits_.readings = absl::Minutes(2);
  Changed("gpu-1", {With({"a"}, 0), With({}, 1), With({}, 300), With({}, 600)}, 1);
  ASSERT_FALSE(histories_["gpu-1"].past_layouts.empty());
  EXPECT_THAT(index_.Of({"a"}).names, ElementsAre("gpu-1"));
}

TEST_F(NamespaceIndexTest, PodOfAReadingThatStoodForLongWasThereUntilItsEnd) {
  Changed("gpu-1", {With({"a"}, 0)}, 1);
  Unchanged("gpu-1", 3600, 2);
  Changed("gpu-1", {With({}, 3601)}, 3);
  EXPECT_THAT(index_.Of({"a"}).names, ElementsAre("gpu-1")) << "it was there a second ago";
  Unchanged("gpu-1", 4500, 4);
  EXPECT_THAT(index_.Of({"a"}).names, ElementsAre("gpu-1"));
  Unchanged("gpu-1", 4501, 5);
  EXPECT_THAT(index_.Of({"a"}).names, IsEmpty());
}

TEST_F(NamespaceIndexTest, PodWhoseLastReadingsCameWithTheNextLayoutWasThereUntilThen) {
  Changed("gpu-1", {With({"a"}, 0)}, 1);
  NodeHistory& history = histories_["gpu-1"];
  for (int second = 1; second <= 600; ++second) {
    history.Extend(kIndexStart + absl::Seconds(second), limits_);
  }
  Changed("gpu-1", {With({}, 601), With({}, 1500)}, 2);
  EXPECT_THAT(index_.Of({"a"}).names, ElementsAre("gpu-1"));
}

TEST_F(NamespaceIndexTest, NodeWhosePodsNobodyCanNameIsEverybodys) {
  NodeSnapshot unknown = With({"a"});
  unknown.attribution.state = Attribution::State::kUnknown;
  Changed("gpu-1", {unknown}, 1);
  EXPECT_THAT(index_.Of({"b"}).names, ElementsAre("gpu-1"));
  Changed("gpu-1", {With({"a"}, 1)}, 2);
  EXPECT_THAT(index_.Of({"b"}).names, IsEmpty());
  EXPECT_EQ(index_.Of({"b"}).generation, 2);
}

TEST_F(NamespaceIndexTest, RemovedNodeIsAChangeForItsNamespaces) {
  Changed("gpu-1", {With({"a"})}, 1);
  index_.Removed("gpu-1", 2);
  EXPECT_THAT(index_.Of({"a"}).names, IsEmpty());
  EXPECT_EQ(index_.Of({"a"}).generation, 2);
}

}  // namespace
}  // namespace gpuscaler
