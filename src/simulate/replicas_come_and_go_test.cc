// Replicas that start, end, crash or move, under the real Decide(), KEDA and the HPA. spec.replicas
// must follow the load only. The load is constant unless a test changes it.
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "simulate/test_cluster_loop.h"
#include "simulate/test_come_and_go_scenarios.h"

namespace gpuscaler {
namespace {

class ComeAndGoTest : public testing::TestWithParam<std::tuple<ComeAndGo, LoadSource, bool>> {
 protected:
  static std::unique_ptr<ClusterLoop> Loop() {
    const auto& [scenario, load, pods_api] = GetParam();
    return LoopOf(scenario, {.load = load, .pods_api = pods_api});
  }
};

std::string NameOf(const testing::TestParamInfo<ComeAndGoTest::ParamType>& info) {
  const auto& [scenario, load, pods_api] = info.param;
  return absl::StrCat(scenario.name, load == LoadSource::kGpus ? "OfGpus" : "OfEngines",
                      pods_api ? "" : "WithoutPodsApi");
}

std::vector<ComeAndGoTest::ParamType> ComeAndGoCases() {
  std::vector<ComeAndGoTest::ParamType> cases;
  for (const ComeAndGo& scenario : ComeAndGoScenarios()) {
    for (const LoadSource load : {LoadSource::kGpus, LoadSource::kEngines}) {
      cases.emplace_back(scenario, load, /*pods_api=*/true);
      if (!scenario.needs_pods_api) cases.emplace_back(scenario, load, /*pods_api=*/false);
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, ComeAndGoTest, testing::ValuesIn(ComeAndGoCases()), NameOf);

TEST_P(ComeAndGoTest, SpecReplicasFollowTheLoadOnly) {
  const auto& [scenario, source, pods_api] = GetParam();
  const std::unique_ptr<ClusterLoop> loop = Loop();
  EXPECT_NEAR(loop->Decided().value / loop->trigger().target, scenario.load, 0.1 * scenario.load);
  loop->RunFor(scenario.lasts);
  RecordProperty("timeline", loop->Timeline());  // --gtest_output=xml
  EXPECT_GE(loop->least(), scenario.Least(source)) << loop->Timeline();
  EXPECT_GE(loop->replicas(), scenario.Need()) << loop->Timeline();
  EXPECT_LE(loop->most(), scenario.Most(source)) << loop->Timeline();
  if (source == LoadSource::kGpus) {
    EXPECT_EQ(loop->Timeline(), absl::StrCat("0 ", scenario.Need()));
  }
}

ClusterLoop DeploymentLoop(const ClusterScenario& scenario, const PodTemplate& pods = {},
                           const DeploymentController::Strategy& strategy = {},
                           TargetType type = TargetType::kAverageValue) {
  return {scenario, HalfUtilization(type), std::make_unique<DeploymentController>(pods, strategy)};
}

TEST(ReplicasComeAndGo, ARecreatedWorkloadKeepsItsReplicasUntilPodsAreReady) {
  const PodTemplate pods{.start = absl::Seconds(400)};
  ClusterLoop loop = DeploymentLoop({}, pods, kRecreate);
  loop.controller().Update(pods);
  loop.RunFor(absl::Seconds(300));
  EXPECT_EQ(loop.cluster().Available(), 0);
  EXPECT_FALSE(loop.Decided().held_because.empty());
  loop.RunFor(absl::Minutes(10));
  EXPECT_EQ(loop.cluster().Available(), 4);
  EXPECT_EQ(loop.Decided().held_because, "");
}

TEST(ReplicasComeAndGo, UnneededReplicasAreRemovedAtOnce) {
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

TEST(ReplicasComeAndGo, AGrowingLoadIsFollowedDuringARollout) {
  ClusterLoop loop = DeploymentLoop({}, {}, kSurgeOne);
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

TEST(ReplicasComeAndGo, WithTargetTypeValueARollingUpdateChangesNothing) {
  ClusterLoop loop = ValueLoop({});
  loop.controller().Update({});
  loop.RunFor(absl::Seconds(30));
  EXPECT_EQ(loop.Decided().value, 50);
  loop.RunFor(absl::Minutes(30));
  EXPECT_EQ(loop.Timeline(), "0 4");
}

TEST(ReplicasComeAndGo, WithTargetTypeValueARecreatedWorkloadKeepsItsReplicas) {
  const PodTemplate pods{.start = absl::Seconds(400)};
  ClusterLoop loop = ValueLoop({}, pods, kRecreate);
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

TEST(ReplicasComeAndGo, WithTargetTypeValueADrainChangesNothing) {
  ClusterLoop loop = ValueLoop({.cluster = {.gpus_per_node = 2}}, {.grace = absl::Seconds(300)});
  loop.cluster().Drain(0);
  loop.RunFor(absl::Minutes(30));
  EXPECT_EQ(loop.Timeline(), "0 4");
}

}  // namespace
}  // namespace gpuscaler
