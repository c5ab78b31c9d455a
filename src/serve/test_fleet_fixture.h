// A fleet of two teams, and more workloads where a test needs them, for tests that count how often
// the fleet is read.
//
//   class FleetEvaluatorTest : public FleetFixture {};
//   Report("a", 50);
//   queries_.reads("team-a")
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "base/test_folder.h"
#include "fleet/fleet_store.h"
#include "fleet/test_readings.h"
#include "gtest/gtest.h"
#include "serve/test_counted_queries.h"
#include "serve/test_served_scaler.h"

namespace gpuscaler {

inline externalscaler::ScaledObjectRef RefIn(
    const std::string& namespace_name, const std::map<std::string, std::string>& metadata = {}) {
  externalscaler::ScaledObjectRef ref = RefOf(metadata);
  ref.set_namespace_(namespace_name);
  return ref;
}

class FleetFixture : public testing::Test {
 protected:
  static constexpr absl::Duration kSixSeconds = absl::Seconds(6);

  FleetFixture() {
    store_.Listed(std::vector<std::string>{"a:1", "b:1"});
    Report("a", 0);
    Report("b", 0);
  }

  // The only GPU of node gpu-`team` is held by a pod of namespace team-`team`.
  void Report(const std::string& team, double utilization_percent) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), absl::StrCat("gpu-", team));
    snapshot.gpus[0].utilization_percent = utilization_percent;
    AddPods(snapshot);
    snapshot.pods[0].namespace_name = absl::StrCat("team-", team);
    Send(team, std::move(snapshot));
  }

  // The only GPU of node gpu-n`workload` is held by workload-`workload` in namespace crowd.
  void ReportWorkload(int workload, double utilization_percent) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), absl::StrCat("gpu-n", workload));
    snapshot.gpus[0].utilization_percent = utilization_percent;
    AddPods(snapshot);
    snapshot.pods[0].namespace_name = "crowd";
    snapshot.pods[0].owners[0].name = absl::StrCat("workload-", workload);
    Send(absl::StrCat("n", workload), std::move(snapshot));
  }

  // The node's only GPU is busy and held by a pod with the owners of `pod`.
  void ReportPod(const std::string& address, const Pod& pod) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), absl::StrCat("gpu-", address));
    AddPods(snapshot);
    snapshot.pods[0].owners = pod.owners;
    snapshot.pods[0].owners_from = pod.owners_from;
    Send(address, std::move(snapshot));
  }

  // The agent at `host`:1 sends the snapshot.
  void Send(const std::string& host, NodeSnapshot snapshot) {
    AgentUpdate update{.node = snapshot.node,
                       .instance = std::hash<std::string>()(host),
                       .received_at = clock_.Now()};
    update.readings.push_back(
        {.previous_confirmed_at = std::nullopt, .snapshot = std::move(snapshot)});
    store_.Received(absl::StrCat(host, ":1"), std::move(update));
  }

  // Both teams report these utilizations every second.
  void RepeatFor(absl::Duration duration, double of_a, double of_b) {
    for (absl::Duration held; held < duration; held += absl::Seconds(1)) {
      clock_.Advance(absl::Seconds(1));
      Report("a", of_a);
      Report("b", of_b);
    }
  }

  FakeClock clock_;
  FleetStore store_{clock_,
                    {.timeouts = {.grace = absl::Seconds(15)},
                     .limits = {.horizon = absl::Minutes(15), .join_within = kSixSeconds}}};
  CountedQueries queries_{store_};
  CountedRequests counted_;
  Leases leases_;
  const TestFolder folder_;
  ProfileStore profiles_{folder_.PathOf("profiles.yaml")};
};

}  // namespace gpuscaler
