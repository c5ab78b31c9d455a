// The scenarios under rules that the present hold replaced: each of them can fail.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "simulate/test_come_and_go_scenarios.h"

namespace gpuscaler {
namespace {

// No hold: counts the present replicas only.
double ValueOfCounted(const Trigger& trigger, const Decision& decision) {
  if (decision.held_because.empty()) return decision.value;
  if (decision.by_demand) return trigger.target * *decision.demand->replicas;
  double sum = trigger.target * decision.unreadable;
  for (const Contribution& contribution : decision.contributions) {
    if (contribution.state == Contribution::State::kCounted) sum += contribution.load.value_or(0);
  }
  return sum;
}

// A simple hold: while a replica starts, at least the target per counted or starting replica.
double ValueOfCountedAndStarting(const Trigger& trigger, const Decision& decision) {
  const double value = ValueOfCounted(trigger, decision);
  if (decision.starting == 0) return value;
  return std::max(value, trigger.target * (decision.replicas + decision.starting));
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
      {"RollingUpdate", kGpus, true, ValueOfCountedAndStarting, kShort, kRatchet},
      {"RollingUpdate", kEngines, true, ValueOfCountedAndStarting, absl::Minutes(2), kRatchet},
      {"RollingUpdateWhileIdle", kGpus, true, ValueOfCountedAndStarting, kShort, kRatchet},
      {"RollingUpdate", kGpus, false, ValueOfCountedAndStarting, kShort,
       "0 4, 15s 6, 30s 9, 45s 12, 1m 15, 1m15s 19, 1m30s 20"},
      {"RollingUpdate", kGpus, false, ValueOfCounted, absl::Minutes(8), "0 4, 6m15s 3, 6m45s 4"},
      {"SurgeOfOneThatStartsSlowly", kGpus, true, ValueOfCountedAndStarting, kShort, kRatchetByOne},
      {"BrokenImage", kGpus, true, ValueOfCountedAndStarting, kShort, kRatchetByOne},
      {"BrokenImage", kEngines, false, ValueOfCountedAndStarting, kShort, kRatchetByOne},
      {"Recreate", kGpus, true, ValueOfCounted, kLonger, kFallsToOne},
      {"Recreate", kEngines, true, ValueOfCounted, kLonger, kFallsToOne},
      {"RecreateAfterALongDrain", kGpus, true, ValueOfCountedAndStarting, kLonger, kFallsToOne},
      {"StatefulSetLosesAllPods", kGpus, true, ValueOfCounted, kLonger, kFallsToOne},
      {"StatefulSetLosesAllPods", kGpus, true, ValueOfCountedAndStarting, kLonger, kFallsToOne},
      {"StatefulSetLosesAllPods", kEngines, true, ValueOfCountedAndStarting, kLonger, kFallsToOne},
      {"StatefulSetRollsOut", kGpus, false, ValueOfCounted, absl::Minutes(10),
       "0 4, 6m45s 3, 8m15s 2"},
      {"PodDeleted", kGpus, false, ValueOfCountedAndStarting, kShort, "0 4, 15s 5, 30s 6"},
      {"DrainWithALongGrace", kGpus, false, ValueOfCountedAndStarting, kShort,
       "0 4, 15s 6, 30s 8, 45s 10, 1m 12"},
      {"JobStartsBesideARollingUpdate", kGpus, true, ValueOfCountedAndStarting, kShort, kRatchet},
      {"RollingUpdateWithALongGrace", kGpus, false, ValueOfCounted, absl::Minutes(30),
       "0 4, 6m15s 3, 6m45s 4"},
      {"RollingUpdateWithALongGrace", kGpus, false, ValueOfCountedAndStarting, absl::Minutes(30),
       "0 4, 15s 6, 30s 9, 45s 12, 1m 15, 1m15s 20, 16m15s 4"},
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

// The same rules for targetType Value return the mean, which the HPA multiplies by the ready pods.
double MeanOfCounted(const Trigger& trigger, const Decision& decision) {
  if (decision.held_because.empty()) return decision.value;
  return decision.replicas > 0 ? ValueOfCounted(trigger, decision) / decision.replicas : 0;
}

double MeanOfCountedAndStarting(const Trigger& trigger, const Decision& decision) {
  const double mean = MeanOfCounted(trigger, decision);
  if (decision.starting == 0 || decision.replicas == 0) return mean;
  return std::max(mean,
                  trigger.target * (decision.replicas + decision.starting) / decision.replicas);
}

struct OtherTimelines {
  ComeAndGo scenario;
  TargetType target_type;
  const char* of_counted;
  const char* of_counted_and_starting;
  const char* now;
};

TEST(OtherHolds, ScalingByHandCrashLoopAndTargetTypeValue) {
  constexpr TargetType kAverage = TargetType::kAverageValue, kValue = TargetType::kValue;
  const auto roll = [](ClusterLoop& loop) { loop.controller().Update({}); };
  const OtherTimelines rows[] = {
      {{.name = "ScaledByHand",
        .begin = [](ClusterLoop& loop) { loop.Scale(6); },
        .replicas = 2,
        .load = 1.6},
       kAverage,
       "0 2, 0 6, 15s 2",
       "0 2, 0 6, 6m15s 2",
       "0 2, 0 6, 15s 2"},
      {{.name = "CrashLoop",
        .begin =
            [](ClusterLoop& loop) { loop.controller().Update({.crash_after = absl::Seconds(40)}); },
        .strategy = {.max_surge = kNoPod, .max_unavailable = {.value = 2, .is_percent = false}},
        .replicas = 5,
        .load = 4.6},
       kAverage,
       "0 5",
       "0 5",
       "0 5"},
      {{.name = "RollingUpdate", .begin = roll},
       kValue,
       "0 4",
       "0 4, 15s 5, 30s 8, 45s 11, 1m 14, 1m15s 18, 1m30s 20, 9m 4",
       "0 4"},
      {{.name = "Recreate",
        .begin = [](ClusterLoop& loop) { loop.controller().Update({.start = absl::Seconds(400)}); },
        .pods = {.start = absl::Seconds(400)},
        .strategy = kRecreate},
       kValue,
       "0 4, 5m15s 1, 7m45s 2, 14m45s 3, 15m 4",
       "0 4, 5m15s 1, 7m45s 2, 14m45s 3, 15m 4, 21m30s 5",
       "0 4"},
      {{.name = "Step",
        .begin = [](ClusterLoop& loop) { loop.SetLoad(3.75); },
        .pods = {.start = absl::Seconds(120)},
        .replicas = 2,
        .load = 1.8},
       kValue,
       "0 2, 15s 3, 30s 4",
       "0 2, 15s 3, 30s 4, 2m30s 5, 9m45s 4",
       "0 2, 15s 3, 2m30s 4"},
      {{.name = "DrainWithALongGrace",
        .begin = [](ClusterLoop& loop) { loop.cluster().Drain(0); },
        .pods = {.grace = absl::Seconds(300)},
        .cluster = {.gpus_per_node = 2}},
       kValue,
       "0 4",
       "0 4",
       "0 4"},
  };
  for (const OtherTimelines& row : rows) {
    const bool mean = row.target_type == kValue;
    const std::pair<ValueRule, const char*> rules[] = {
        {mean ? MeanOfCounted : ValueOfCounted, row.of_counted},
        {mean ? MeanOfCountedAndStarting : ValueOfCountedAndStarting, row.of_counted_and_starting},
        {nullptr, row.now},
    };
    for (const auto& [rule, timeline] : rules) {
      const std::unique_ptr<ClusterLoop> loop =
          LoopOf(row.scenario, {.value = rule, .target_type = row.target_type});
      loop->RunFor(absl::Minutes(30));
      EXPECT_EQ(loop->Timeline(), timeline)
          << row.scenario.name << (mean ? " by Value" : " by AverageValue");
    }
  }
}

// The value is one target per replica that the load needs, on a cluster with fewer GPUs.
TEST(OtherHolds, PendingPodsAreNeitherCountedNorStarting) {
  for (const ValueRule& rule : {ValueRule(), ValueRule(ValueOfCountedAndStarting)}) {
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
