#include "fleet/namespace_index.h"

#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const absl::Time kStart = absl::FromUnixSeconds(1'767'225'600);

NodeSnapshot With(const std::vector<std::string>& namespaces, int seconds = 0) {
  NodeSnapshot snapshot = SnapshotOf(1, kStart + absl::Seconds(seconds));
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
