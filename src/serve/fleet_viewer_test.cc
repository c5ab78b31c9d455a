#include "serve/fleet_viewer.h"

#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using gpuscaler::v1::FleetView;
using testing::HasSubstr;

const absl::Time kViewedAt = absl::UnixEpoch() + absl::Hours(1);
constexpr StalenessLimits kViewStaleness{.stale_after = absl::Seconds(6),
                                         .grace = absl::Seconds(15)};

NodeState StoredNode(const std::string& node, absl::Duration received_ago, bool with_pods) {
  NodeSnapshot snapshot = SnapshotOf(1, kViewedAt - received_ago, node);
  if (with_pods) AddPods(snapshot);
  auto history = std::make_shared<NodeHistory>();
  history->Append(snapshot, {.horizon = absl::Hours(1), .join_within = absl::Seconds(6)});
  return {.node = node, .history = history, .received_at = kViewedAt - received_ago};
}

FleetView ViewedFleet(std::vector<NodeState> nodes) {
  auto fleet = std::make_shared<FleetHistory>();
  fleet->now = kViewedAt;
  fleet->nodes = std::move(nodes);
  fleet->queries_kubelets = std::ranges::any_of(fleet->nodes, QueriesKubelet);
  return FleetViewOf(FleetReader::FleetPtr(fleet), {}, kViewStaleness, kViewedAt);
}

TEST(FleetView, NodesComeWithTheirAgesAndPods) {
  const FleetView view = ViewedFleet({StoredNode("gpu-a", absl::Milliseconds(500), true)});
  ASSERT_EQ(view.nodes_size(), 1);
  EXPECT_EQ(view.nodes(0).node().name(), "gpu-a");
  EXPECT_EQ(view.nodes(0).age_seconds(), 0.5);
  EXPECT_EQ(view.nodes(0).heard_seconds_ago(), 0.5);
  EXPECT_EQ(view.nodes(0).left_out(), "");
  EXPECT_EQ(view.nodes(0).newest().pods().pods(0).namespace_name(), "team-a");
  EXPECT_EQ(view.trouble(), "");
}

TEST(FleetView, DisconnectedNodeIsLeftOutAfterItsGrace) {
  NodeState in_grace = StoredNode("gpu-a", absl::Seconds(5), true);
  NodeState lost = StoredNode("gpu-b", absl::Seconds(20), true);
  in_grace.why_disconnected = lost.why_disconnected = "connection refused";
  const FleetView view = ViewedFleet({in_grace, lost});
  EXPECT_EQ(view.nodes(0).silence(), "connection refused");
  EXPECT_EQ(view.nodes(0).left_out(), "");
  EXPECT_EQ(view.nodes(1).left_out(),
            "agent of node gpu-b disconnected for 20s: connection refused");
}

TEST(FleetView, NodeWithoutOwnersIsLeftOutIfOthersHaveThem) {
  const NodeState without = StoredNode("gpu-b", absl::ZeroDuration(), false);
  const FleetView mixed = ViewedFleet({StoredNode("gpu-a", absl::ZeroDuration(), true), without});
  EXPECT_THAT(
      mixed.nodes(1).left_out(),
      HasSubstr("the holders of the GPUs of node gpu-b are unknown: it queries no kubelet"));
  EXPECT_EQ(ViewedFleet({without}).nodes(0).left_out(), "") << "there a GPU in use is a replica";
}

TEST(FleetView, AgentsAreShownWithoutAFleet) {
  const FleetView view =
      FleetViewOf(absl::UnavailableError("no report of 1 agent yet, 10.0.0.8:6001"),
                  {{.address = "10.0.0.8:6001", .listed = true, .why = "connection refused"},
                   {.address = "10.0.0.9:6001",
                    .connected = true,
                    .received_at = kViewedAt - absl::Seconds(1)}},
                  kViewStaleness, kViewedAt);
  EXPECT_EQ(view.trouble(), "no report of 1 agent yet, 10.0.0.8:6001");
  ASSERT_EQ(view.agents_size(), 2);
  EXPECT_EQ(view.agents(0).why(), "connection refused");
  EXPECT_FALSE(view.agents(0).has_heard_seconds_ago()) << "never: not 0";
  EXPECT_EQ(view.agents(1).heard_seconds_ago(), 1);
}

TEST(FleetView, IsOnlyForTheScalersOwnHost) {
  for (const char* peer : {"127.0.0.1", "::1", "unix"}) EXPECT_TRUE(IsOnThisHost(peer)) << peer;
  for (const char* peer : {"10.0.0.7", "127.0.0.6", "127.0.0.11", "fd00::1", "::1:1",
                           "::ffff:127.0.0.1", "127.0.0.1:40112", "unknown", ""}) {
    EXPECT_FALSE(IsOnThisHost(peer)) << peer;
  }
}

}  // namespace
}  // namespace gpuscaler
