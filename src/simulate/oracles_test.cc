// Worked examples: Decide() on a workload's samples, then the HPA on its value, sync by sync.
// The replicas of each step are ready before the next.
#include <algorithm>
#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/hpa.h"
#include "scaling/test_history_builder.h"
#include "trigger/test_parsed_trigger.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;

constexpr absl::Duration kStaleAfter = absl::Seconds(6);
constexpr StalenessLimits kStaleness{.stale_after = kStaleAfter, .grace = absl::Seconds(15)};
constexpr absl::Duration kLongerThanAnyWindow = absl::Minutes(6);

Trigger UtilizationTrigger(double target) {
  Trigger trigger;
  trigger.target = target;
  return trigger;
}

Trigger ProfileTrigger(const char* profile) {
  return Parsed({{"profile", profile}, {"warmupSeconds", "0"}});
}

Decision DecideOn(const Trigger& trigger, const std::vector<GpuSample>& gpus) {
  HistoryBuilder builder;
  builder.RepeatFor(kLongerThanAnyWindow, gpus);
  return Decide(trigger, {}, builder.fleet(), kStaleness);
}

using GpuOf = std::function<GpuSample(int index)>;

std::vector<GpuSample> Replicas(int replicas, const GpuOf& gpu) {
  std::vector<GpuSample> gpus;
  for (int i = 0; i < replicas; ++i) gpus.push_back(gpu(i));
  return gpus;
}

int NextReplicas(const Trigger& trigger, int replicas, int most, const GpuOf& gpu) {
  const HpaOptions hpa{.min_replicas = 0,
                       .max_replicas = most,
                       .target_type = trigger.target_type,
                       .target = trigger.target};
  const double value = DecideOn(trigger, Replicas(replicas, gpu)).value;
  return std::min(ProposeReplicas(hpa, replicas, replicas, value), most);
}

std::vector<int> Syncs(const Trigger& trigger, int from, int syncs, const GpuOf& gpu,
                       int most = 1000) {
  std::vector<int> replicas = {from};
  while (static_cast<int>(replicas.size()) < syncs) {
    replicas.push_back(NextReplicas(trigger, replicas.back(), most, gpu));
  }
  return replicas;
}

GpuSample Saturated(int index) { return BusyGpu(index, 100); }

TEST(Oracle, SaturatedWorkloadGrowsByItsRatio) {
  EXPECT_THAT(Syncs(UtilizationTrigger(70), 1, 8, Saturated),
              ElementsAre(1, 2, 3, 5, 8, 12, 18, 26));
  EXPECT_THAT(Syncs(UtilizationTrigger(75), 1, 10, Saturated),
              ElementsAre(1, 2, 3, 4, 6, 8, 11, 15, 20, 27));
  EXPECT_THAT(Syncs(UtilizationTrigger(80), 1, 11, Saturated),
              ElementsAre(1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24));
}

TEST(Oracle, TargetNearSaturationNeverScalesOut) {
  const auto nearly = [](int index) { return BusyGpu(index, 98.9); };
  EXPECT_THAT(Syncs(UtilizationTrigger(90), 1, 4, nearly), ElementsAre(1, 1, 1, 1));
}

TEST(Oracle, SaturatedWorkloadScalesOutToTheMaximum) {
  for (int target = 10; target <= 85; ++target) {
    int replicas = 1;
    for (int sync = 0; replicas < 20; ++sync) {
      const int next = NextReplicas(UtilizationTrigger(target), replicas, 20, Saturated);
      ASSERT_GT(next, replicas) << "target " << target << ", sync " << sync;
      replicas = next;
    }
  }
}

TEST(Oracle, UnreadableReplicasDoNotScale) {
  struct Case {
    int unreadable;
    double load;
    int want;
  };
  for (const Case& test :
       {Case{1, 100, 10}, Case{4, 100, 9}, Case{1, 40, 5}, Case{4, 40, 6}, Case{2, 85, 8}}) {
    const auto gpu = [&test](int index) {
      return index < test.unreadable ? LostGpu(index) : BusyGpu(index, test.load);
    };
    EXPECT_EQ(NextReplicas(UtilizationTrigger(80), 8, 1000, gpu), test.want)
        << test.unreadable << " unreadable, the others at " << test.load;
  }
}

TEST(Oracle, PreallocatedMemoryKeepsBusyWorkloadsAndReleasesIdleOnes) {
  const Trigger batch = ProfileTrigger("batch");
  const auto busy = [](int index) { return BusyGpu(index, 40, 80); };
  const auto idle = [](int index) { return BusyGpu(index, 0, 80); };
  EXPECT_THAT(Syncs(batch, 4, 3, busy), ElementsAre(4, 4, 4));
  EXPECT_THAT(Syncs(batch, 4, 2, idle), ElementsAre(4, 0));
  EXPECT_FALSE(DecideOn(batch, Replicas(4, idle)).active);
}

TEST(Oracle, PreallocatedMemoryTakenLiterallyRunsAway) {
  const Trigger literal = Parsed({{"metricType", "memory_used_percent"}, {"targetValue", "70"}});
  const auto idle = [](int index) { return BusyGpu(index, 0, 80); };
  EXPECT_THAT(Syncs(literal, 4, 11, idle, 20), ElementsAre(4, 5, 6, 7, 8, 10, 12, 14, 16, 19, 20));
}

}  // namespace
}  // namespace gpuscaler
