// Tests of the controllers alone, with a fixed spec.replicas.
#include "simulate/test_workload_controller.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr PodsOrPercent kNoPods{.value = 0, .is_percent = false};

// Runs the pods of a workload second by second, and records their minimum and maximum.
class ControlledPods {
 public:
  explicit ControlledPods(WorkloadController& controller, int replicas)
      : controller_(controller), replicas_(replicas) {
    RunFor(absl::Minutes(30));
    ForgetExtremes();
  }

  void ForgetExtremes() {
    least_available = cluster.Available();
    most_active = cluster.Active();
  }
  void RunFor(absl::Duration duration) {
    for (const absl::Time end = cluster.now() + duration; cluster.now() < end;) {
      cluster.Advance(cluster.now() + absl::Seconds(1));
      controller_.Sync(replicas_, cluster);
      least_available = std::min(least_available, cluster.Available());
      most_active = std::max(most_active, cluster.Active());
    }
  }
  void Scale(int replicas) { replicas_ = replicas; }
  int64_t OfRevision(int revision) const {
    return std::ranges::count(cluster.pods(), revision, &SimulatedPod::revision);
  }

  GpuCluster cluster{{}, absl::FromUnixSeconds(1'767'225'600)};
  int least_available = 0;
  int most_active = 0;

 private:
  WorkloadController& controller_;
  int replicas_;
};

TEST(DeploymentController, PercentagesAreRoundedUpForSurgeAndDownForUnavailable) {
  EXPECT_EQ(PodsOrPercent().RoundedUp(4), 1);
  EXPECT_EQ(PodsOrPercent().RoundedUp(5), 2);
  EXPECT_EQ(PodsOrPercent().RoundedDown(5), 1);
  EXPECT_EQ(PodsOrPercent().RoundedDown(3), 0);
  EXPECT_EQ((PodsOrPercent{.value = 3, .is_percent = false}).RoundedUp(10), 3);
}

TEST(DeploymentController, ARollingUpdateStaysWithinSurgeAndUnavailable) {
  DeploymentController deployment({}, {});
  ControlledPods pods(deployment, 8);
  deployment.Update({});
  pods.RunFor(absl::Minutes(30));
  EXPECT_EQ(pods.least_available, 6);
  EXPECT_EQ(pods.most_active, 10);
  EXPECT_EQ(pods.OfRevision(1), 8);
  EXPECT_EQ(pods.cluster.pods().size(), 8);
}

TEST(DeploymentController, WithoutSurgeAndUnavailableOnePodIsReplacedAtATime) {
  DeploymentController deployment({}, {.max_surge = kNoPods, .max_unavailable = kNoPods});
  ControlledPods pods(deployment, 4);
  deployment.Update({});
  pods.RunFor(absl::Minutes(30));
  EXPECT_EQ(pods.least_available, 3);
  EXPECT_EQ(pods.most_active, 4);
  EXPECT_EQ(pods.OfRevision(1), 4);
}

TEST(DeploymentController, ABrokenImageStopsTheRolloutWithTheOldPodsServing) {
  DeploymentController deployment({}, {});
  ControlledPods pods(deployment, 4);
  deployment.Update({.is_broken = true});
  pods.RunFor(absl::Minutes(30));
  EXPECT_EQ(pods.least_available, 3);
  EXPECT_EQ(pods.OfRevision(0), 3);
  EXPECT_EQ(pods.OfRevision(1), 2);
  deployment.Update({});
  pods.RunFor(absl::Minutes(30));
  EXPECT_EQ(pods.OfRevision(2), 4);
  EXPECT_EQ(pods.cluster.pods().size(), 4);
}

TEST(DeploymentController, ReplicasChangedDuringARolloutGoToBothReplicaSets) {
  DeploymentController deployment({}, {});
  ControlledPods pods(deployment, 8);
  deployment.Update({.is_broken = true});
  pods.RunFor(absl::Minutes(5));
  pods.Scale(16);
  pods.RunFor(absl::Minutes(5));
  EXPECT_GT(pods.OfRevision(0), 8);
  EXPECT_GT(pods.OfRevision(1), 4);
  EXPECT_EQ(pods.cluster.pods().size(), 20) << "16 and 25 %";
}

TEST(DeploymentController, RecreateWaitsUntilTheLastOldPodIsGone) {
  DeploymentController deployment({.grace = absl::Seconds(100)}, {.recreate = true});
  ControlledPods pods(deployment, 4);
  deployment.Update({});
  pods.RunFor(absl::Seconds(90));
  EXPECT_EQ(pods.cluster.Active(), 0);
  EXPECT_EQ(pods.OfRevision(0), 4);
  pods.RunFor(absl::Seconds(20));
  EXPECT_EQ(pods.OfRevision(0), 0);
  EXPECT_EQ(pods.OfRevision(1), 4);
}

TEST(StatefulSetController, PodsStartInOrderEachAfterTheOneBeforeIsReady) {
  StatefulSetController set({.start = absl::Seconds(50)});
  ControlledPods pods(set, 4);
  while (!pods.cluster.pods().empty()) pods.cluster.Lose(pods.cluster.pods().front().name);
  pods.RunFor(absl::Seconds(40));
  EXPECT_EQ(pods.cluster.pods().size(), 1);
  pods.RunFor(absl::Seconds(40));
  EXPECT_EQ(pods.cluster.pods().size(), 2);
  pods.RunFor(absl::Minutes(3));
  EXPECT_EQ(pods.cluster.Available(), 4);
}

TEST(StatefulSetController, ARolloutReplacesThePodsFromTheLastToTheFirst) {
  StatefulSetController set({});
  ControlledPods pods(set, 3);
  set.Update({});
  pods.RunFor(absl::Seconds(100));
  EXPECT_EQ(pods.OfRevision(1), 1);
  EXPECT_EQ(pods.least_available, 2);
  pods.RunFor(absl::Minutes(10));
  EXPECT_EQ(pods.OfRevision(1), 3);
}

TEST(GpuCluster, PodsWithoutAFreeGpuArePending) {
  GpuCluster cluster({.nodes = 1, .gpus_per_node = 2}, absl::UnixEpoch());
  for (int i = 0; i < 3; ++i) cluster.Create({}, 0);
  cluster.Advance(absl::UnixEpoch() + absl::Seconds(100));
  cluster.Advance(absl::UnixEpoch() + absl::Seconds(200));
  EXPECT_EQ(cluster.Available(), 2);
  EXPECT_TRUE(cluster.pods().back().IsPending());
}

TEST(GpuCluster, ADeletedPodKeepsItsGpuForItsGracePeriod) {
  GpuCluster cluster({.nodes = 1, .gpus_per_node = 1}, absl::UnixEpoch());
  cluster.Create({.grace = absl::Seconds(60)}, 0);
  cluster.Advance(absl::UnixEpoch() + absl::Seconds(100));
  cluster.Delete(cluster.pods().front().name);
  cluster.Create({}, 0);
  cluster.Advance(absl::UnixEpoch() + absl::Seconds(150));
  EXPECT_TRUE(cluster.pods().back().IsPending());
  EXPECT_EQ(cluster.Snapshots([](const SimulatedPod&) { return 0.0; })[0].pods[0].is_terminating,
            true);
  cluster.Advance(absl::UnixEpoch() + absl::Seconds(170));
  EXPECT_FALSE(cluster.pods().back().IsPending());
}

}  // namespace
}  // namespace gpuscaler
