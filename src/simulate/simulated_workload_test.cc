#include "simulate/simulated_workload.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::Field;

const absl::Time kOpening = absl::FromUnixSeconds(1'767'225'600);

// A token takes 0.1 s at any batch.
constexpr EngineRequest kTenSeconds = {.prompt_tokens = 10, .max_tokens = 100};

WorkloadOptions Options(Routing routing = Routing::kLeastLoaded) {
  return {.engine = {.max_num_seqs = 8, .step = {.base = 0.1}},
          .routing = routing,
          .shortest_start = absl::Seconds(60),
          .longest_start = absl::Seconds(60)};
}

class SimulatedWorkloadTest : public testing::Test {
 protected:
  static void RunFor(SimulatedWorkload& workload, absl::Duration duration) {
    for (const absl::Time end = workload.now() + duration; workload.now() < end;) {
      workload.Advance(workload.now() + absl::Seconds(1));
    }
  }
  static std::vector<int64_t> Loads(const SimulatedWorkload& workload) {
    std::vector<int64_t> loads;
    for (const SimulatedReplica& pod : workload.pods()) loads.push_back(pod.engine->held());
    return loads;
  }
};

TEST_F(SimulatedWorkloadTest, RequestsWaitAtTheRouterUntilAReplicaIsReady) {
  SimulatedWorkload workload(Options(), kOpening);
  workload.Submit(kTenSeconds);
  workload.Scale(1);
  RunFor(workload, absl::Seconds(59));
  EXPECT_EQ(workload.ready(), 0);
  EXPECT_EQ(workload.held(), 1);
  RunFor(workload, absl::Seconds(1));
  EXPECT_EQ(workload.ready(), 1);
  EXPECT_EQ(workload.running(), 1);
  RunFor(workload, absl::Seconds(10));
  ASSERT_EQ(workload.served().size(), 1);
  EXPECT_EQ(workload.served()[0].arrived, kOpening);
  EXPECT_EQ(workload.served()[0].first_token, kOpening + absl::Seconds(60.1));
  EXPECT_EQ(workload.served()[0].last_token, kOpening + absl::Seconds(70));
}

TEST_F(SimulatedWorkloadTest, LeastLoadedAndRoundRobinSpreadRequestsEvenly) {
  for (const Routing routing : {Routing::kLeastLoaded, Routing::kRoundRobin}) {
    SimulatedWorkload workload(Options(routing), kOpening);
    for (int i = 0; i < 3; ++i) workload.StartReadyAt(kOpening);
    for (int i = 0; i < 9; ++i) workload.Submit(kTenSeconds);
    EXPECT_THAT(Loads(workload), ElementsAre(3, 3, 3));
  }
}

TEST_F(SimulatedWorkloadTest, ScaleInRemovesStartingPodsFirstAndThenTheNewest) {
  SimulatedWorkload workload(Options(), kOpening);
  workload.StartReadyAt(kOpening);
  workload.StartReadyAt(kOpening + absl::Seconds(10));
  workload.Scale(3);
  RunFor(workload, absl::Seconds(20));
  workload.Scale(2);
  EXPECT_THAT(workload.pods(), ElementsAre(Field(&SimulatedReplica::number, 1),
                                           Field(&SimulatedReplica::number, 2)));
  workload.Scale(1);
  EXPECT_THAT(workload.pods(), ElementsAre(Field(&SimulatedReplica::number, 1)));
}

TEST_F(SimulatedWorkloadTest, TerminatingReplicaFinishesItsRequestsAndGetsNoNewOnes) {
  SimulatedWorkload workload(Options(), kOpening);
  workload.StartReadyAt(kOpening);
  workload.StartReadyAt(kOpening);
  for (int i = 0; i < 2; ++i) workload.Submit(kTenSeconds);
  workload.Scale(1);
  workload.Submit(kTenSeconds);
  EXPECT_EQ(workload.replicas(), 1);
  EXPECT_THAT(Loads(workload), testing::UnorderedElementsAre(1, 2));
  RunFor(workload, absl::Seconds(11));
  EXPECT_EQ(workload.pods().size(), 1);
  EXPECT_EQ(workload.served().size(), 3);
}

TEST_F(SimulatedWorkloadTest, UnfinishedRequestsOfADeletedReplicaRestartElsewhere) {
  WorkloadOptions options = Options();
  options.grace = absl::Seconds(4);
  SimulatedWorkload workload(options, kOpening);
  workload.StartReadyAt(kOpening);
  workload.Submit(kTenSeconds);
  workload.StartReadyAt(kOpening);
  workload.Terminate(1);
  RunFor(workload, absl::Seconds(13));
  EXPECT_TRUE(workload.served().empty());
  RunFor(workload, absl::Seconds(1));
  ASSERT_EQ(workload.served().size(), 1);
  EXPECT_EQ(workload.served()[0].arrived, kOpening);
  EXPECT_TRUE(workload.Unserved().empty());
}

TEST_F(SimulatedWorkloadTest, RollingUpdateSurgesAndKeepsEnoughReady) {
  SimulatedWorkload workload(Options(), kOpening);
  for (int i = 0; i < 8; ++i) workload.StartReadyAt(kOpening);
  workload.Restart();
  int most = 0, fewest_ready = 8;
  for (int second = 0; second < 400; ++second) {
    workload.Scale(8);
    most = std::max(most, workload.replicas());
    fewest_ready = std::min(fewest_ready, workload.ready());
    RunFor(workload, absl::Seconds(1));
  }
  EXPECT_EQ(most, 10);
  EXPECT_EQ(fewest_ready, 6);
  EXPECT_EQ(workload.ready(), 8);
  EXPECT_EQ(workload.pods().front().number, 9) << "all are new";
}

TEST_F(SimulatedWorkloadTest, StartsAreDrawnFromTheRangeAndRepeatForTheSameSeed) {
  WorkloadOptions options = Options();
  options.longest_start = absl::Seconds(180);
  SimulatedWorkload workload(options, kOpening);
  SimulatedWorkload again(options, kOpening);
  workload.Scale(20);
  again.Scale(20);
  for (size_t i = 0; i < workload.pods().size(); ++i) {
    const absl::Duration start = workload.pods()[i].ready_at - kOpening;
    EXPECT_GE(start, absl::Seconds(60));
    EXPECT_LT(start, absl::Seconds(180));
    EXPECT_EQ(workload.pods()[i].ready_at, again.pods()[i].ready_at);
  }
  EXPECT_NE(workload.pods()[0].ready_at, workload.pods()[1].ready_at);
}

}  // namespace
}  // namespace gpuscaler
