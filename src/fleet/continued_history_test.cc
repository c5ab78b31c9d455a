#include "fleet/continued_history.h"

#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

const absl::Time kHistoryStart = absl::FromUnixSeconds(1'767'225'600);
constexpr NodeHistory::Limits kLimits{.horizon = absl::Minutes(15),
                                      .join_within = absl::Seconds(5)};

absl::Time At(int seconds) { return kHistoryStart + absl::Seconds(seconds); }

AgentUpdate UpdateAt(const std::vector<int>& seconds) {
  AgentUpdate update{.node = "gpu-7"};
  for (const int second : seconds) {
    AgentUpdate::Reading& reading = update.readings.emplace_back();
    reading.snapshot = SnapshotOf(1, At(second));
    reading.snapshot.gpus[0].utilization_percent = second % 100;
  }
  return update;
}

// Seconds since the test's beginning.
std::vector<std::pair<int64_t, int64_t>> Runs(const NodeHistory& history) {
  std::vector<std::pair<int64_t, int64_t>> runs;
  for (const NodeRun& run : history.runs) {
    runs.emplace_back(absl::ToInt64Seconds(run.first - kHistoryStart),
                      absl::ToInt64Seconds(run.last - kHistoryStart));
  }
  return runs;
}

TEST(Continued, AppendsNewReadings) {
  auto history = Continued(nullptr, UpdateAt({1, 2}), kLimits);
  history = Continued(history, UpdateAt({3}), kLimits);
  EXPECT_THAT(Runs(*history),
              testing::ElementsAre(std::pair(1, 1), std::pair(2, 2), std::pair(3, 3)));
}

TEST(Continued, RepeatedPastIsIgnored) {
  auto history = Continued(nullptr, UpdateAt({1, 2, 3}), kLimits);
  history = Continued(history, UpdateAt({2, 3, 4}), kLimits);
  EXPECT_EQ(history->runs.size(), 4u);
  EXPECT_EQ(history->generation, 4);
}

TEST(Continued, UnchangedForMinutesIsNotAnOutage) {
  auto history = Continued(nullptr, UpdateAt({1, 2}), kLimits);
  AgentUpdate unchanged{.node = "gpu-7", .unchanged_until = At(300)};
  history = Continued(history, unchanged, kLimits);
  EXPECT_THAT(Runs(*history), testing::ElementsAre(std::pair(1, 1), std::pair(2, 300)));
  AgentUpdate later = UpdateAt({600});
  later.readings[0].before_until = At(599);
  history = Continued(history, later, kLimits);
  EXPECT_THAT(Runs(*history),
              testing::ElementsAre(std::pair(1, 1), std::pair(2, 599), std::pair(600, 600)));
}

TEST(Continued, UnchangedWeekIsOneRun) {
  auto history = Continued(nullptr, UpdateAt({1, 2}), kLimits);
  const int week = 7 * 24 * 3600;
  AgentUpdate unchanged{.node = "gpu-7", .unchanged_until = At(week)};
  history = Continued(history, unchanged, kLimits);
  EXPECT_EQ(Runs(*history).back(), std::pair(int64_t{2}, int64_t{week}));
  EXPECT_LT(history->generation, 10) << "the store waits for it";
}

TEST(Continued, FirstReadingStaysAloneWhileUnchanged) {
  auto history = Continued(nullptr, UpdateAt({1}), kLimits);
  AgentUpdate unchanged{.node = "gpu-7", .unchanged_until = At(600)};
  history = Continued(history, unchanged, kLimits);
  EXPECT_THAT(Runs(*history), testing::ElementsAre(std::pair(1, 1), std::pair(6, 600)));
}

// A reading at `at` of one GPU, held since `held_since`.
AgentUpdate Holds(absl::Time held_since, absl::Time at) {
  AgentUpdate update{.node = "gpu-7"};
  AgentUpdate::Reading& reading = update.readings.emplace_back();
  reading.snapshot = SnapshotOf(1, at);
  reading.snapshot.gpus[0].held_since = held_since;
  reading.snapshot.gpus[0].power_watts = absl::ToDoubleSeconds(at - kHistoryStart);
  return update;
}

TEST(Continued, ReplayedHolderIsTheSame) {
  auto history = Continued(nullptr, Holds(At(0), At(10)), kLimits);
  history = Continued(history, Holds(At(0) + absl::Milliseconds(3), At(11)), kLimits);
  EXPECT_EQ(history->Newest().gpus[0].held_since, At(0))
      << "the same holder with another clock offset";
  EXPECT_TRUE(history->past_holders.empty());
  EXPECT_EQ(history->runs.back().points()[0].held_since(), At(0));
}

TEST(Continued, HolderOfADayIsTheSameDespiteClockDrift) {
  const int day = 24 * 3600;
  auto history = Continued(nullptr, Holds(At(0), At(day)), kLimits);
  history = Continued(history, Holds(At(9), At(day + 1)), kLimits);  // a drift of 1e-4
  EXPECT_EQ(history->Newest().gpus[0].held_since, At(0));
}

TEST(Continued, NextHolderIsADifferentOne) {
  auto history = Continued(nullptr, Holds(At(0), At(2)), kLimits);
  history = Continued(history, Holds(At(3), At(3)), kLimits);
  EXPECT_EQ(history->Newest().gpus[0].held_since, At(3));
  ASSERT_EQ(history->past_holders.size(), 1u);
  EXPECT_EQ(history->past_holders[0].held_since, At(0));
}

TEST(Continued, HolderFromBeforeTheAgentDiffersFromALaterOne) {
  auto history = Continued(nullptr, Holds(absl::InfinitePast(), At(2)), kLimits);
  history = Continued(history, Holds(At(3), At(3)), kLimits);
  EXPECT_EQ(history->Newest().gpus[0].held_since, At(3));
  history = Continued(history, Holds(absl::InfinitePast(), At(4)), kLimits);
  EXPECT_EQ(history->Newest().gpus[0].held_since, absl::InfinitePast());
}

// A reading at `at` of `pods` GPUs, each held by its own pod, which is listed since `listed_since`.
AgentUpdate Lists(int pods, absl::Time listed_since, absl::Time at) {
  AgentUpdate update{.node = "gpu-7"};
  NodeSnapshot& snapshot = update.readings.emplace_back().snapshot;
  snapshot = SnapshotOf(pods, at);
  AddPods(snapshot);
  for (Pod& pod : snapshot.pods) pod.listed_since = listed_since;
  return update;
}

TEST(Continued, ReplayedPodsKeepTheLayout) {
  auto history = Continued(nullptr, Lists(2, At(0), At(10)), kLimits);
  history = Continued(history, Lists(2, At(0) - absl::Milliseconds(3), At(11)), kLimits);
  EXPECT_EQ(history->Newest().pods[1].listed_since, At(0));
  EXPECT_EQ(history->runs.back().layout(), history->runs.front().layout());
}

TEST(Continued, PodKeepsItsListedSinceWhenOthersJoin) {
  auto history = Continued(nullptr, Lists(1, At(0), At(10)), kLimits);
  AgentUpdate update = Lists(3, At(0) - absl::Milliseconds(3), At(11));
  std::vector<Pod>& pods = update.readings[0].snapshot.pods;
  std::swap(pods[0], pods[2]);
  history = Continued(history, update, kLimits);
  EXPECT_EQ(history->Newest().pods[2].listed_since, At(0)) << "its index has changed";
}

TEST(Continued, ReplayedOwnerTimeKeepsTheLayout) {
  const auto owned_since = [](absl::Time since, int second) {
    AgentUpdate update = Lists(2, At(0), At(second));
    for (Pod& pod : update.readings[0].snapshot.pods) pod.owner_listed_since = since;
    return update;
  };
  const absl::Time since = At(0) - absl::Hours(24 * 365);
  auto history = Continued(nullptr, owned_since(since, 10), kLimits);
  history = Continued(history, owned_since(since - absl::Milliseconds(3), 11), kLimits);
  EXPECT_EQ(history->Newest().pods[1].owner_listed_since, since);
  EXPECT_EQ(history->runs.back().layout(), history->runs.front().layout());
  history = Continued(history, owned_since(At(5), 12), kLimits);
  EXPECT_EQ(history->Newest().pods[1].owner_listed_since, At(5)) << "its agent restarted";
  EXPECT_EQ(history->Newest().pods[1].listed_since, At(0));
}

TEST(Continued, PodListedAgainStartsAgain) {
  auto history = Continued(nullptr, Lists(1, At(0), At(10)), kLimits);
  history = Continued(history, Lists(1, At(12), At(12)), kLimits);
  EXPECT_EQ(history->Newest().pods[0].listed_since, At(12)) << "its agent restarted";
  AgentUpdate update = Lists(1, At(12), At(13));
  update.readings[0].snapshot.pods[0].uid = "another's";
  update.readings[0].snapshot.pods[0].listed_since = At(12) + absl::Milliseconds(3);
  history = Continued(history, update, kLimits);
  EXPECT_EQ(history->Newest().pods[0].listed_since, At(12) + absl::Milliseconds(3));
}

TEST(Continued, GapBetweenReadingsIsAnOutage) {
  auto history = Continued(nullptr, UpdateAt({1, 2}), kLimits);
  history = Continued(history, UpdateAt({60}), kLimits);
  EXPECT_EQ(Runs(*history).back(), std::pair(int64_t{60}, int64_t{60}));
}

TEST(Continued, SharedHistoryIsImmutable) {
  const auto mine = Continued(nullptr, UpdateAt({1}), kLimits);
  const auto next = Continued(mine, UpdateAt({2}), kLimits);
  EXPECT_EQ(mine->generation, 1);
  EXPECT_EQ(mine->NewestAt(), At(1));
  EXPECT_EQ(next->NewestAt(), At(2));
}

TEST(Continued, UnsharedHistoryIsExtendedInPlace) {
  auto history = Continued(nullptr, UpdateAt({1}), kLimits);
  const NodeHistory* const at = history.get();
  for (int second = 2; second < 40; ++second) {
    history = Continued(std::move(history), UpdateAt({second}), kLimits);
  }
  EXPECT_EQ(history.get(), at);
  EXPECT_EQ(history->runs.size(), 39U);
  EXPECT_LE(history->runs.capacity(), 48U) << "most nodes need no spare room";
}

TEST(Continued, MessageWithoutAReadingIsNoHistory) {
  EXPECT_EQ(Continued(nullptr, AgentUpdate{.unchanged_until = At(5)}, kLimits), nullptr);
  EXPECT_EQ(Continued(nullptr, AgentUpdate{.trouble = "no driver"}, kLimits), nullptr);
}

}  // namespace
}  // namespace gpuscaler
