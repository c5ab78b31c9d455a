#include "fleet/append_update.h"

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

TEST(AppendUpdate, AppendsNewReadings) {
  auto history = AppendUpdate(nullptr, UpdateAt({1, 2}), kLimits);
  history = AppendUpdate(history, UpdateAt({3}), kLimits);
  EXPECT_THAT(Runs(*history),
              testing::ElementsAre(std::pair(1, 1), std::pair(2, 2), std::pair(3, 3)));
}

TEST(AppendUpdate, RepeatedPastIsIgnored) {
  auto history = AppendUpdate(nullptr, UpdateAt({1, 2, 3}), kLimits);
  history = AppendUpdate(history, UpdateAt({2, 3, 4}), kLimits);
  EXPECT_EQ(history->runs.size(), 4u);
  EXPECT_EQ(history->generation, 4);
}

TEST(AppendUpdate, UnchangedForMinutesIsNotAnOutage) {
  auto history = AppendUpdate(nullptr, UpdateAt({1, 2}), kLimits);
  AgentUpdate unchanged{.node = "gpu-7", .newest_confirmed_at = At(300)};
  history = AppendUpdate(history, unchanged, kLimits);
  EXPECT_THAT(Runs(*history), testing::ElementsAre(std::pair(1, 1), std::pair(2, 300)));
  AgentUpdate later = UpdateAt({600});
  later.readings[0].previous_confirmed_at = At(599);
  history = AppendUpdate(history, later, kLimits);
  EXPECT_THAT(Runs(*history),
              testing::ElementsAre(std::pair(1, 1), std::pair(2, 599), std::pair(600, 600)));
}

TEST(AppendUpdate, UnchangedWeekIsOneRun) {
  auto history = AppendUpdate(nullptr, UpdateAt({1, 2}), kLimits);
  const int week = 7 * 24 * 3600;
  AgentUpdate unchanged{.node = "gpu-7", .newest_confirmed_at = At(week)};
  history = AppendUpdate(history, unchanged, kLimits);
  EXPECT_EQ(Runs(*history).back(), std::pair(int64_t{2}, int64_t{week}));
  EXPECT_LT(history->generation, 10) << "the store waits for it";
}

TEST(AppendUpdate, FirstReadingStaysAloneWhileUnchanged) {
  auto history = AppendUpdate(nullptr, UpdateAt({1}), kLimits);
  AgentUpdate unchanged{.node = "gpu-7", .newest_confirmed_at = At(600)};
  history = AppendUpdate(history, unchanged, kLimits);
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

TEST(AppendUpdate, ReplayedHolderIsTheSame) {
  auto history = AppendUpdate(nullptr, Holds(At(0), At(10)), kLimits);
  history = AppendUpdate(history, Holds(At(0) + absl::Milliseconds(3), At(11)), kLimits);
  EXPECT_EQ(history->Newest().gpus[0].held_since, At(0))
      << "the same holder with another clock offset";
  EXPECT_TRUE(history->past_holders.empty());
  EXPECT_EQ(history->runs.back().point(0).held_since(), At(0));
}

TEST(AppendUpdate, HolderOfADayIsTheSameDespiteClockDrift) {
  const int day = 24 * 3600;
  auto history = AppendUpdate(nullptr, Holds(At(0), At(day)), kLimits);
  history = AppendUpdate(history, Holds(At(9), At(day + 1)), kLimits);  // a drift of 1e-4
  EXPECT_EQ(history->Newest().gpus[0].held_since, At(0));
}

TEST(AppendUpdate, NextHolderIsADifferentOne) {
  auto history = AppendUpdate(nullptr, Holds(At(0), At(2)), kLimits);
  history = AppendUpdate(history, Holds(At(3), At(3)), kLimits);
  EXPECT_EQ(history->Newest().gpus[0].held_since, At(3));
  ASSERT_EQ(history->past_holders.size(), 1u);
  EXPECT_EQ(history->past_holders[0].held_since, At(0));
}

TEST(AppendUpdate, HolderFromBeforeTheAgentDiffersFromALaterOne) {
  auto history = AppendUpdate(nullptr, Holds(absl::InfinitePast(), At(2)), kLimits);
  history = AppendUpdate(history, Holds(At(3), At(3)), kLimits);
  EXPECT_EQ(history->Newest().gpus[0].held_since, At(3));
  history = AppendUpdate(history, Holds(absl::InfinitePast(), At(4)), kLimits);
  EXPECT_EQ(history->Newest().gpus[0].held_since, absl::InfinitePast());
}

// A reading at `at` of `pods` GPUs, each held by its own pod, which is listed since `listed_since`.
AgentUpdate Lists(int pods, absl::Time listed_since, absl::Time at) {
  AgentUpdate update{.node = "gpu-7"};
  NodeSnapshot& snapshot = update.readings.emplace_back().snapshot;
  snapshot = SnapshotOf(pods, at);
  AddPods(snapshot);
  for (Pod& pod : snapshot.pods.Own()) pod.listed_since = listed_since;
  return update;
}

TEST(AppendUpdate, ReplayedPodsKeepTheLayout) {
  auto history = AppendUpdate(nullptr, Lists(2, At(0), At(10)), kLimits);
  history = AppendUpdate(history, Lists(2, At(0) - absl::Milliseconds(3), At(11)), kLimits);
  EXPECT_EQ(history->Newest().pods[1].listed_since, At(0));
  EXPECT_EQ(history->runs.back().layout(), history->runs.front().layout());
}

TEST(AppendUpdate, PodKeepsItsListedSinceWhenOthersJoin) {
  auto history = AppendUpdate(nullptr, Lists(1, At(0), At(10)), kLimits);
  AgentUpdate update = Lists(3, At(0) - absl::Milliseconds(3), At(11));
  std::vector<Pod>& pods = update.readings[0].snapshot.pods.Own();
  std::swap(pods[0], pods[2]);
  history = AppendUpdate(history, update, kLimits);
  EXPECT_EQ(history->Newest().pods[2].listed_since, At(0)) << "its index has changed";
}

TEST(AppendUpdate, ReplayedOwnerTimeKeepsTheLayout) {
  const auto owned_since = [](absl::Time since, int second) {
    AgentUpdate update = Lists(2, At(0), At(second));
    for (Pod& pod : update.readings[0].snapshot.pods.Own()) pod.owner_listed_since = since;
    return update;
  };
  const absl::Time since = At(0) - absl::Hours(24 * 365);
  auto history = AppendUpdate(nullptr, owned_since(since, 10), kLimits);
  history = AppendUpdate(history, owned_since(since - absl::Milliseconds(3), 11), kLimits);
  EXPECT_EQ(history->Newest().pods[1].owner_listed_since, since);
  EXPECT_EQ(history->runs.back().layout(), history->runs.front().layout());
  history = AppendUpdate(history, owned_since(At(5), 12), kLimits);
  EXPECT_EQ(history->Newest().pods[1].owner_listed_since, At(5)) << "its agent restarted";
  EXPECT_EQ(history->Newest().pods[1].listed_since, At(0));
}

TEST(AppendUpdate, PodListedAgainStartsAgain) {
  auto history = AppendUpdate(nullptr, Lists(1, At(0), At(10)), kLimits);
  history = AppendUpdate(history, Lists(1, At(12), At(12)), kLimits);
  EXPECT_EQ(history->Newest().pods[0].listed_since, At(12)) << "its agent restarted";
  AgentUpdate update = Lists(1, At(12), At(13));
  update.readings[0].snapshot.pods[0].uid = "another's";
  update.readings[0].snapshot.pods[0].listed_since = At(12) + absl::Milliseconds(3);
  history = AppendUpdate(history, update, kLimits);
  EXPECT_EQ(history->Newest().pods[0].listed_since, At(12) + absl::Milliseconds(3));
}

TEST(AppendUpdate, GapBetweenReadingsIsAnOutage) {
  auto history = AppendUpdate(nullptr, UpdateAt({1, 2}), kLimits);
  history = AppendUpdate(history, UpdateAt({60}), kLimits);
  EXPECT_EQ(Runs(*history).back(), std::pair(int64_t{60}, int64_t{60}));
}

TEST(AppendUpdate, SharedHistoryIsImmutable) {
  const auto mine = AppendUpdate(nullptr, UpdateAt({1}), kLimits);
  const auto next = AppendUpdate(mine, UpdateAt({2}), kLimits);
  EXPECT_EQ(mine->generation, 1);
  EXPECT_EQ(mine->NewestAt(), At(1));
  EXPECT_EQ(next->NewestAt(), At(2));
}

TEST(AppendUpdate, UnsharedHistoryIsExtendedInPlace) {
  auto history = AppendUpdate(nullptr, UpdateAt({1}), kLimits);
  const NodeHistory* const at = history.get();
  for (int second = 2; second < 40; ++second) {
    history = AppendUpdate(std::move(history), UpdateAt({second}), kLimits);
  }
  EXPECT_EQ(history.get(), at);
  EXPECT_EQ(history->runs.size(), 39U);
  EXPECT_LE(history->runs.capacity(), 48U) << "most nodes need no spare room";
}

TEST(AppendUpdate, MessageWithoutAReadingIsNoHistory) {
  EXPECT_EQ(AppendUpdate(nullptr, AgentUpdate{.newest_confirmed_at = At(5)}, kLimits), nullptr);
  EXPECT_EQ(AppendUpdate(nullptr, AgentUpdate{.trouble = "no driver"}, kLimits), nullptr);
}

}  // namespace
}  // namespace gpuscaler
