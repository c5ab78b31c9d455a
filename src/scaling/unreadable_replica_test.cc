// Replicas that are present but cannot be read: each counts the target.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_decided_history.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A worked example: V for m unreadable of 8 replicas, with the others at a load; T=80.
TEST(UnreadableReplica, UnreadableReplicasCountTheTarget) {
  struct Case {
    int unreadable;
    double load;
    double value;
  };
  for (const Case& test : {Case{1, 100, 780}, Case{4, 100, 720}, Case{1, 40, 360}, Case{4, 40, 480},
                           Case{2, 85, 670}}) {
    std::vector<GpuSample> before, now;
    for (int i = 0; i < 8; ++i) {
      before.push_back(BusyGpu(i, test.load));
      now.push_back(i < test.unreadable ? LostGpu(i) : BusyGpu(i, test.load));
    }
    const Decision decision = After(
        Utilization(), HistoryBuilder().RepeatFor(kLong, before).RepeatFor(absl::Seconds(30), now));
    EXPECT_EQ(decision.value, test.value) << test.unreadable << " at " << test.load;
    EXPECT_EQ(decision.unreadable, test.unreadable);
    EXPECT_EQ(decision.replicas, 8);
    EXPECT_TRUE(decision.active);
  }
}

TEST(UnreadableReplica, OtherReplicaAggregationLeavesTheUnreadableAtTheTarget) {
  Trigger trigger = Utilization();
  trigger.replica_aggregation = ReplicaAggregation::kMax;
  HistoryBuilder builder;
  builder.RepeatFor(kLong, {LostGpu(0), BusyGpu(1, 60), BusyGpu(2, 40)});
  EXPECT_EQ(After(trigger, builder).value, 2 * 60 + 80);
  trigger.target_type = TargetType::kValue;
  EXPECT_NEAR(After(trigger, builder).value, 200.0 / 3, 0.001);
}

TEST(UnreadableReplica, GapShorterThanStaleAfterIsBridged) {
  HistoryBuilder builder;
  builder.RepeatFor(kLong, {BusyGpu(0, 60)}).RepeatFor(absl::Seconds(6), {LostGpu(0)});
  EXPECT_EQ(After(Utilization(), builder).value, 60);
  EXPECT_EQ(After(Utilization(), builder).unreadable, 0);
}

TEST(UnreadableReplica, ReplicaOfTwoGpusBridgesTheGapsOfEach) {
  Trigger trigger = Utilization();
  trigger.gpus_per_replica = 2;
  HistoryBuilder builder;
  builder.RepeatFor(kLong, {BusyGpu(0, 40), BusyGpu(1, 60)});
  for (int i = 0; i < 10; ++i) {
    builder.Tick({LostGpu(0), BusyGpu(1, 60)}).Tick({BusyGpu(0, 40), LostGpu(1)});
  }
  EXPECT_EQ(After(trigger, builder).value, 60);
  EXPECT_EQ(After(trigger, builder).unreadable, 0);
  builder.RepeatFor(absl::Seconds(8), {LostGpu(0), BusyGpu(1, 60)});
  EXPECT_EQ(After(trigger, builder).status.code(), absl::StatusCode::kUnavailable);
}

TEST(UnreadableReplica, NothingReadableIsUnavailableAndNamesTheError) {
  HistoryBuilder builder;
  builder.RepeatFor(kLong, {BusyGpu(0, 60)}).RepeatFor(absl::Seconds(8), {LostGpu(0)});
  const Decision decision = After(Utilization(), builder);
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(decision.status.message()), HasSubstr("GPU_IS_LOST"));
}

TEST(UnreadableReplica, GpusThatWereNeverReadAreUnavailableAndNotIdle) {
  GpuSample gpu = LostGpu(0);
  gpu.in_use = false;
  EXPECT_EQ(Steady(Utilization(), {gpu}).status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Steady(Utilization(), {gpu, FreeGpu(1)}).value, 0);
}

TEST(UnreadableReplica, CostlyMetricThatWasNotRequestedIsUnavailable) {
  Trigger trigger;
  trigger.metric = MetricType::kPcieTx;
  GpuSample gpu = BusyGpu(0, 50);
  gpu.gaps.push_back({GpuField::kPcie, GpuGap::Reason::kNotRequested, ""});
  const Decision decision = Steady(trigger, {gpu});
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(decision.status.message()), HasSubstr("no trigger had requested it"));
}

TEST(UnreadableReplica, DeviceWithoutTheMetricIsUnreadableWhileOthersHaveIt) {
  GpuSample without = BusyGpu(1, 0);
  without.utilization_percent.reset();
  const Decision decision = Steady(Utilization(), {BusyGpu(0, 60), without});
  EXPECT_EQ(decision.value, 60 + 80);
  EXPECT_EQ(decision.unreadable, 1);
}

TEST(UnreadableReplica, IdleGpuThatCannotBeReadMakesAnExtensiveTotalPartial) {
  Trigger trigger;
  trigger.metric = MetricType::kPowerDraw;
  trigger.aggregation = Aggregation::kSum;
  GpuSample lost = LostGpu(1);
  lost.in_use = false;
  const Decision decision = Steady(trigger, {BusyGpu(0, 90), lost});
  EXPECT_EQ(decision.value, 100);
  EXPECT_THAT(decision.contributions[1].because, HasSubstr("cannot be read"));
  EXPECT_TRUE(decision.partial);
  EXPECT_EQ(decision.unreadable_unused, 1);
  EXPECT_THAT(decision.notes,
              ElementsAre("partial: n/1 NVML error 15 (GPU_IS_LOST): not in use, adds nothing"));
  EXPECT_FALSE(Steady(Utilization(), {BusyGpu(0, 90), lost}).partial) << "no part of a sum";
}

}  // namespace
}  // namespace gpuscaler
