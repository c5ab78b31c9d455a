#include "fleet/namespace_index.h"

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

TEST(NamespaceIndex, NamespaceSeesTheNodesOfItsPodsOnly) {
  NamespaceIndex index(absl::Minutes(15));
  index.Changed("gpu-1", With({"a", "b"}), 1);
  index.Changed("gpu-2", With({"b"}), 2);
  EXPECT_THAT(index.Of({"a"}).names, ElementsAre("gpu-1"));
  EXPECT_THAT(index.Of({"b"}).names, ElementsAre("gpu-1", "gpu-2"));
  EXPECT_THAT(index.Of({"c"}).names, IsEmpty());
  EXPECT_THAT(index.Of({"c", "a"}).names, ElementsAre("gpu-1")) << "a wall that was opened";
}

TEST(NamespaceIndex, OtherNamespacesChangeNothing) {
  NamespaceIndex index(absl::Minutes(15));
  index.Changed("gpu-1", With({"a"}), 1);
  index.Changed("gpu-2", With({"b"}), 2);
  EXPECT_EQ(index.Of({"a"}).generation, 1);
  index.Changed("gpu-1", With({"a"}, 1), 3);
  EXPECT_EQ(index.Of({"a"}).generation, 3);
  EXPECT_EQ(index.Of({"b"}).generation, 2);
}

TEST(NamespaceIndex, TellsWhoseNodesHaveChangedSince) {
  NamespaceIndex index(absl::Minutes(15));
  index.Changed("gpu-1", With({"a", "b"}), 1);
  index.Changed("gpu-2", With({"c"}), 2);
  index.Changed("gpu-1", With({"b"}, 1), 3);
  EXPECT_THAT(index.ChangedSince(0), UnorderedElementsAre("a", "b", "c"));
  EXPECT_THAT(index.ChangedSince(2), UnorderedElementsAre("a", "b"))
      << "the node is still looked back on by a";
  EXPECT_THAT(index.ChangedSince(3), IsEmpty());
  index.Removed("gpu-2", 4);
  EXPECT_THAT(index.ChangedSince(3), ElementsAre("c"));
  EXPECT_FALSE(index.UnattributedChangedSince(0));
}

TEST(NamespaceIndex, NodeStaysForTheHorizonAfterItsLastPod) {
  NamespaceIndex index(absl::Minutes(15));
  index.Changed("gpu-1", With({"a"}, 0), 1);
  index.Changed("gpu-1", With({}, 900), 2);
  EXPECT_THAT(index.Of({"a"}).names, ElementsAre("gpu-1"));
  index.Changed("gpu-1", With({}, 901), 3);
  EXPECT_THAT(index.Of({"a"}).names, IsEmpty());
  EXPECT_EQ(index.Of({"a"}).generation, 3) << "that it has left is a change";
}

TEST(NamespaceIndex, NodeWhosePodsNobodyCanNameIsEverybodys) {
  NamespaceIndex index(absl::Minutes(15));
  NodeSnapshot unknown = With({"a"});
  unknown.attribution.state = Attribution::State::kUnknown;
  index.Changed("gpu-1", unknown, 1);
  EXPECT_THAT(index.Of({"b"}).names, ElementsAre("gpu-1"));
  index.Changed("gpu-1", With({"a"}, 1), 2);
  EXPECT_THAT(index.Of({"b"}).names, IsEmpty());
  EXPECT_EQ(index.Of({"b"}).generation, 2);
}

TEST(NamespaceIndex, RemovedNodeIsAChangeForItsNamespaces) {
  NamespaceIndex index(absl::Minutes(15));
  index.Changed("gpu-1", With({"a"}), 1);
  index.Removed("gpu-1", 2);
  EXPECT_THAT(index.Of({"a"}).names, IsEmpty());
  EXPECT_EQ(index.Of({"a"}).generation, 2);
}

}  // namespace
}  // namespace gpuscaler
