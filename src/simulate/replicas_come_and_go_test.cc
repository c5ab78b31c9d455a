// Replicas that start, end, crash or move, under the real Decide, KEDA and the HPA: spec.replicas
// follows the load, and nothing else. The load is constant unless a test changes it.
#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "simulate/cluster_loop.h"

namespace gpuscaler {
namespace {

constexpr PodsOrPercent kOnePod{.value = 1, .is_percent = false};
constexpr PodsOrPercent kNoPod{.value = 0, .is_percent = false};

// At a load of all its GPU a pod counts twice the target.
Trigger HalfUtilization(TargetType type = TargetType::kAverageValue) {
  Trigger trigger;
  trigger.workload = "llm";
  trigger.target = 50;
  trigger.target_type = type;
  return trigger;
}

ClusterLoop DeploymentLoop(const ClusterScenario& scenario, const PodTemplate& pods = {},
                           const DeploymentController::Strategy& strategy = {},
                           TargetType type = TargetType::kAverageValue) {
  return {scenario, HalfUtilization(type), std::make_unique<DeploymentController>(pods, strategy)};
}

ClusterScenario WithoutPodsApi() { return {.cluster = {.pods_api = false}}; }

TEST(ReplicasComeAndGo, ARollingUpdateMovesNothing) {
  ClusterLoop loop = DeploymentLoop({});
  loop.controller().Update({});
  loop.RunFor(absl::Minutes(30));
  EXPECT_EQ(loop.Timeline(), "0 4");
  EXPECT_EQ(loop.cluster().Available(), 4);
}

TEST(ReplicasComeAndGo, ARollingUpdateOfAnIdleWorkloadStartsNoMore) {
  ClusterLoop loop = DeploymentLoop({.load = 0, .scaled_object = {.min_replica_count = 4}});
  loop.controller().Update({});
  loop.RunFor(absl::Minutes(30));
  EXPECT_EQ(loop.Timeline(), "0 4");
}

TEST(ReplicasComeAndGo, ASurgePodThatStartsSlowlyMovesNothing) {
  ClusterLoop loop = DeploymentLoop({}, {}, {.max_surge = kOnePod, .max_unavailable = kNoPod});
  loop.controller().Update({.start = absl::Seconds(300)});
  loop.RunFor(absl::Minutes(60));
  EXPECT_EQ(loop.Timeline(), "0 4");
  EXPECT_EQ(loop.cluster().Available(), 4);
}

TEST(ReplicasComeAndGo, ABrokenImageMovesNothing) {
  ClusterLoop loop = DeploymentLoop({}, {}, {.max_surge = kOnePod, .max_unavailable = kNoPod});
  loop.controller().Update({.is_broken = true});
  loop.RunFor(absl::Minutes(60));
  EXPECT_EQ(loop.Timeline(), "0 4") << "also beyond the longest start";
}

TEST(ReplicasComeAndGo, ARollingUpdateWithoutPodsApiMovesNothing) {
  const PodTemplate pods{.grace = absl::Seconds(120)};
  ClusterLoop loop = DeploymentLoop(WithoutPodsApi(), pods);
  loop.controller().Update(pods);
  loop.RunFor(absl::Minutes(30));
  EXPECT_EQ(loop.Timeline(), "0 4");
}

TEST(ReplicasComeAndGo, ADrainWithoutPodsApiMovesNothing) {
  ClusterScenario scenario = WithoutPodsApi();
  scenario.cluster.gpus_per_node = 2;
  ClusterLoop loop = DeploymentLoop(scenario, {.grace = absl::Seconds(300)});
  loop.cluster().Drain(0);
  ASSERT_EQ(loop.cluster().Available(), 2);
  loop.RunFor(absl::Minutes(30));
  EXPECT_EQ(loop.Timeline(), "0 4");
}

TEST(ReplicasComeAndGo, ADrainMovesNothing) {
  ClusterLoop loop =
      DeploymentLoop({.cluster = {.gpus_per_node = 2}}, {.grace = absl::Seconds(300)});
  loop.cluster().Drain(0);
  loop.RunFor(absl::Minutes(30));
  EXPECT_EQ(loop.Timeline(), "0 4");
}

TEST(ReplicasComeAndGo, APodThatIsDeletedMovesNothing) {
  ClusterLoop loop = DeploymentLoop({});
  loop.cluster().Delete(loop.cluster().pods().front().name);
  loop.RunFor(absl::Minutes(30));
  EXPECT_EQ(loop.Timeline(), "0 4");
}

TEST(ReplicasComeAndGo, ARecreatedWorkloadIsHeld) {
  for (const absl::Duration grace : {absl::Seconds(30), absl::Seconds(400)}) {
    SCOPED_TRACE(grace);
    const PodTemplate pods{.start = absl::Seconds(400), .grace = grace};
    ClusterLoop loop = DeploymentLoop({}, pods, {.recreate = true});
    loop.controller().Update(pods);
    loop.RunFor(absl::Seconds(300));
    EXPECT_EQ(loop.cluster().Available(), 0);
    EXPECT_FALSE(loop.Decided().held_because.empty());
    loop.RunFor(absl::Minutes(60));
    EXPECT_EQ(loop.Timeline(), "0 4");
    EXPECT_EQ(loop.cluster().Available(), 4);
    EXPECT_EQ(loop.Decided().held_because, "");
  }
}

TEST(ReplicasComeAndGo, AStatefulSetThatLostAllItsPodsIsHeldUntilTheyAreBack) {
  ClusterLoop loop(
      {}, HalfUtilization(),
      std::make_unique<StatefulSetController>(PodTemplate{.start = absl::Seconds(400)}));
  while (!loop.cluster().pods().empty()) {
    loop.cluster().Lose(loop.cluster().pods().front().name);
  }
  loop.RunFor(absl::Minutes(90));
  EXPECT_EQ(loop.Timeline(), "0 4");
  EXPECT_EQ(loop.cluster().Available(), 4);
}

TEST(ReplicasComeAndGo, ReplicasThatNoLoadNeedsGoAtOnce) {
  ClusterLoop loop = DeploymentLoop({.replicas = 2, .load = 1.6});
  loop.Scale(6);
  loop.RunFor(absl::Seconds(40));
  EXPECT_EQ(loop.replicas(), 2) << loop.Timeline();
  loop.RunFor(absl::Minutes(30));
  EXPECT_EQ(loop.replicas(), 2) << loop.Timeline();
  EXPECT_EQ(loop.least(), 2);
}

TEST(ReplicasComeAndGo, ACrashLoopKeepsTheCount) {
  ClusterLoop loop =
      DeploymentLoop({.replicas = 5, .load = 4.6}, {},
                     {.max_surge = kNoPod, .max_unavailable = {.value = 2, .is_percent = false}});
  loop.controller().Update({.crash_after = absl::Seconds(40)});
  loop.RunFor(absl::Minutes(60));
  EXPECT_EQ(loop.Timeline(), "0 5");
  EXPECT_EQ(loop.cluster().Available(), 3);
}

TEST(ReplicasComeAndGo, LoadThatGrowsDuringARolloutIsFollowed) {
  ClusterLoop loop = DeploymentLoop({}, {}, {.max_surge = kOnePod, .max_unavailable = kNoPod});
  loop.controller().Update({.start = absl::Seconds(300)});
  loop.RunFor(absl::Seconds(100));
  loop.SetLoad(7.2);
  loop.RunFor(absl::Seconds(120));
  EXPECT_EQ(loop.replicas(), 8) << loop.Timeline();
  loop.RunFor(absl::Minutes(40));
  EXPECT_EQ(loop.replicas(), 8) << loop.Timeline();
  EXPECT_LE(loop.most(), 9) << loop.Timeline();
}

ClusterLoop ValueLoop(const ClusterScenario& scenario, const PodTemplate& pods = {},
                      const DeploymentController::Strategy& strategy = {}) {
  return DeploymentLoop(scenario, pods, strategy, TargetType::kValue);
}

TEST(ReplicasComeAndGo, WithTargetTypeValueARollingUpdateMovesNothing) {
  ClusterLoop loop = ValueLoop({});
  loop.controller().Update({});
  loop.RunFor(absl::Seconds(30));
  EXPECT_EQ(loop.Decided().value, 50);
  loop.RunFor(absl::Minutes(30));
  EXPECT_EQ(loop.Timeline(), "0 4");
}

TEST(ReplicasComeAndGo, WithTargetTypeValueARecreatedWorkloadIsHeld) {
  const PodTemplate pods{.start = absl::Seconds(400)};
  ClusterLoop loop = ValueLoop({}, pods, {.recreate = true});
  loop.controller().Update(pods);
  loop.RunFor(absl::Minutes(30));
  EXPECT_EQ(loop.Timeline(), "0 4");
}

TEST(ReplicasComeAndGo, WithTargetTypeValueAStepIsFollowedOnce) {
  ClusterLoop loop = ValueLoop({.replicas = 2, .load = 1.8}, {.start = absl::Seconds(120)});
  loop.SetLoad(3.75);
  loop.RunFor(absl::Minutes(30));
  EXPECT_EQ(loop.replicas(), 4) << loop.Timeline();
  EXPECT_EQ(loop.most(), 4) << loop.Timeline();
}

TEST(ReplicasComeAndGo, WithTargetTypeValueADrainMovesNothing) {
  ClusterLoop loop = ValueLoop({.cluster = {.gpus_per_node = 2}}, {.grace = absl::Seconds(300)});
  loop.cluster().Drain(0);
  loop.RunFor(absl::Minutes(30));
  EXPECT_EQ(loop.Timeline(), "0 4");
}

}  // namespace
}  // namespace gpuscaler
