// A fleet of two teams, and of a crowd where a test wants one, for tests of what answers cost.
//
//   class FleetEvaluatorTest : public AskedFleet {};
//   Says("a", 50);
//   questions_.asked("team-a")
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
#include "serve/counted_questions.h"
#include "serve/served_scaler.h"

namespace gpuscaler {

inline externalscaler::ScaledObjectRef RefIn(
    const std::string& namespace_name, const std::map<std::string, std::string>& metadata = {}) {
  externalscaler::ScaledObjectRef ref = RefOf(metadata);
  ref.set_namespace_(namespace_name);
  return ref;
}

class AskedFleet : public testing::Test {
 protected:
  static constexpr absl::Duration kSixSeconds = absl::Seconds(6);

  AskedFleet() {
    store_.Listed(std::vector<std::string>{"a:1", "b:1"});
    Says("a", 0);
    Says("b", 0);
  }

  // Each team has the only GPU of the node named after it.
  void Says(const std::string& team, double utilization_percent) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), absl::StrCat("gpu-", team));
    snapshot.gpus[0].utilization_percent = utilization_percent;
    AddPods(snapshot);
    snapshot.pods[0].namespace_name = absl::StrCat("team-", team);
    AgentUpdate update{.node = snapshot.node,
                       .instance = std::hash<std::string>()(team),
                       .received_at = clock_.Now()};
    update.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
    store_.Received(absl::StrCat(team, ":1"), std::move(update));
  }

  // That workload of the namespace "crowd" has the only GPU of a node of its own.
  void SaysOfWorkload(int workload, double utilization_percent) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), absl::StrCat("gpu-n", workload));
    snapshot.gpus[0].utilization_percent = utilization_percent;
    AddPods(snapshot);
    snapshot.pods[0].namespace_name = "crowd";
    snapshot.pods[0].owners[0].name = absl::StrCat("workload-", workload);
    AgentUpdate update{.node = snapshot.node,
                       .instance = static_cast<uint64_t>(1000 + workload),
                       .received_at = clock_.Now()};
    update.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
    store_.Received(absl::StrCat("n", workload, ":1"), std::move(update));
  }

  // The node's only GPU is held by that pod, which works.
  void SaysOfPod(const std::string& address, const Pod& pod) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), absl::StrCat("gpu-", address));
    AddPods(snapshot);
    snapshot.pods[0].owners = pod.owners;
    snapshot.pods[0].owners_from = pod.owners_from;
    AgentUpdate update{.node = snapshot.node,
                       .instance = std::hash<std::string>()(address),
                       .received_at = clock_.Now()};
    update.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
    store_.Received(absl::StrCat(address, ":1"), std::move(update));
  }

  // Both, every second.
  void Hold(absl::Duration duration, double of_a, double of_b) {
    for (absl::Duration held; held < duration; held += absl::Seconds(1)) {
      clock_.Advance(absl::Seconds(1));
      Says("a", of_a);
      Says("b", of_b);
    }
  }

  FakeClock clock_;
  FleetStore store_{clock_,
                    {.timeouts = {.grace = absl::Seconds(15)},
                     .limits = {.horizon = absl::Minutes(15), .join_within = kSixSeconds}}};
  CountedQuestions questions_{store_};
  CountedRequests counted_;
  Leases leases_;
  const TestFolder folder_;
  ProfileStore profiles_{folder_.PathOf("profiles.yaml")};
};

}  // namespace gpuscaler
