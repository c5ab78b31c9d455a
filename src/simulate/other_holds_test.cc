// The scenarios under rules that DESIGN 2's hold replaced: each can fail.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "simulate/come_and_go_scenarios.h"

namespace gpuscaler {
namespace {

// No hold: the replicas that are counted now.
double OfCounted(const Trigger& trigger, const Decision& decision) {
  if (decision.held_because.empty()) return decision.value;
  if (decision.by_demand) return trigger.target * *decision.demand->replicas;
  double sum = trigger.target * decision.unreadable;
  for (const Contribution& contribution : decision.contributions) {
    if (contribution.state == Contribution::State::kCounted) sum += contribution.load.value_or(0);
  }
  return sum;
}

// The obvious hold: while a replica starts, at least the target for each that is counted or starts.
double OfCountedAndStarting(const Trigger& trigger, const Decision& decision) {
  const double value = OfCounted(trigger, decision);
  if (decision.warming == 0) return value;
  return std::max(value, trigger.target * (decision.replicas + decision.warming));
}

struct OtherHold {
  const char* scenario;
  LoadSource load;
  bool pods_api;
  ValueRule rule;
  absl::Duration lasts;
  const char* timeline;
};

constexpr char kRatchet[] = "0 4, 15s 5, 30s 7, 45s 9, 1m 12, 1m15s 15, 1m30s 19, 1m45s 20";
constexpr char kRatchetByOne[] =
    "0 4, 15s 5, 30s 6, 45s 7, 1m 8, 1m15s 9, 1m30s 10, 1m45s 11, 2m 12, 2m15s 13, 2m30s 14, "
    "2m45s 15, 3m 16, 3m15s 17, 3m30s 18, 3m45s 19, 4m 20";
constexpr char kFallsToOne[] = "0 4, 5m15s 1";

TEST(OtherHolds, RunAwayOrScaleIn) {
  constexpr LoadSource kGpus = LoadSource::kGpus, kEngines = LoadSource::kEngines;
  constexpr absl::Duration kShort = absl::Minutes(5), kLonger = absl::Minutes(6);
  const OtherHold rows[] = {
      {"RollingUpdate", kGpus, true, OfCountedAndStarting, kShort, kRatchet},
      {"RollingUpdate", kEngines, true, OfCountedAndStarting, absl::Minutes(2), kRatchet},
      {"RollingUpdateWhileIdle", kGpus, true, OfCountedAndStarting, kShort, kRatchet},
      {"RollingUpdate", kGpus, false, OfCountedAndStarting, kShort,
       "0 4, 15s 6, 30s 9, 45s 12, 1m 15, 1m15s 19, 1m30s 20"},
      {"RollingUpdate", kGpus, false, OfCounted, absl::Minutes(8), "0 4, 6m15s 3, 6m45s 4"},
      {"SurgeOfOneThatStartsSlowly", kGpus, true, OfCountedAndStarting, kShort, kRatchetByOne},
      {"BrokenImage", kGpus, true, OfCountedAndStarting, kShort, kRatchetByOne},
      {"BrokenImage", kEngines, false, OfCountedAndStarting, kShort, kRatchetByOne},
      {"Recreate", kGpus, true, OfCounted, kLonger, kFallsToOne},
      {"Recreate", kEngines, true, OfCounted, kLonger, kFallsToOne},
      {"RecreateAfterALongDrain", kGpus, true, OfCountedAndStarting, kLonger, kFallsToOne},
      {"StatefulSetLosesAllPods", kGpus, true, OfCounted, kLonger, kFallsToOne},
      {"StatefulSetLosesAllPods", kGpus, true, OfCountedAndStarting, kLonger, kFallsToOne},
      {"StatefulSetLosesAllPods", kEngines, true, OfCountedAndStarting, kLonger, kFallsToOne},
      {"StatefulSetRollsOut", kGpus, false, OfCounted, absl::Minutes(10), "0 4, 6m45s 3, 8m15s 2"},
      {"PodDeleted", kGpus, false, OfCountedAndStarting, kShort, "0 4, 15s 5, 30s 6"},
      {"DrainWithALongGrace", kGpus, false, OfCountedAndStarting, kShort,
       "0 4, 15s 6, 30s 8, 45s 10, 1m 12"},
      {"JobStartsBesideARollingUpdate", kGpus, true, OfCountedAndStarting, kShort, kRatchet},
  };
  const std::vector<ComeAndGo> scenarios = ComeAndGoScenarios();
  for (const OtherHold& row : rows) {
    const auto scenario = std::ranges::find_if(
        scenarios, [&](const ComeAndGo& each) { return row.scenario == std::string(each.name); });
    ASSERT_NE(scenario, scenarios.end()) << row.scenario;
    const std::unique_ptr<ClusterLoop> loop =
        LoopOf(*scenario, {.load = row.load, .pods_api = row.pods_api, .value = row.rule});
    loop->RunFor(row.lasts);
    EXPECT_EQ(loop->Timeline(), row.timeline)
        << row.scenario << (row.load == kGpus ? " of GPUs" : " of engines")
        << (row.pods_api ? "" : " without the Pods API");
    EXPECT_TRUE(loop->least() < scenario->Least(row.load) ||
                loop->most() > scenario->Most(row.load));
  }
}

// A target for each replica that the load needs, and more GPUs than the cluster has.
TEST(OtherHolds, PendingPodsAreNeitherCountedNorStarting) {
  for (const ValueRule& rule : {ValueRule(), ValueRule(OfCountedAndStarting)}) {
    ClusterLoop loop(
        {.cluster = {.nodes = 1}, .value = rule}, HalfUtilization(),
        std::make_unique<DeploymentController>(PodTemplate(), DeploymentController::Strategy()));
    loop.SetLoad(4.8);
    loop.RunFor(absl::Minutes(30));
    EXPECT_EQ(loop.cluster().Available(), 4);
    EXPECT_EQ(loop.most(), 5) << loop.Timeline();
    EXPECT_EQ(loop.replicas(), 5) << loop.Timeline();
  }
}

}  // namespace
}  // namespace gpuscaler
