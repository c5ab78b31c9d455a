#include "model/node_history.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kTick = absl::Seconds(2);

std::vector<float> SharesOf(const NodeRun& run) {
  std::vector<float> shares;
  for (size_t i = 0; i < 2; ++i) shares.push_back(run.share(i));
  return shares;
}

class NodeHistoryTest : public testing::Test {
 protected:
  NodeHistoryTest() {
    snapshot_.node = "gpu-7";
    snapshot_.gpus.Own().resize(2);
    snapshot_.gpus[0].uuid = "GPU-a";
    snapshot_.gpus[1].uuid = "GPU-b";
    snapshot_.gpus[1].index = 1;
  }

  void Tick(absl::Duration after = kTick) {
    snapshot_.taken_at += after;
    history_.Append(snapshot_, limits_);
  }
  void TickBusy(double utilization_percent) {
    snapshot_.gpus[0].utilization_percent = utilization_percent;
    Tick();
  }
  // In seconds since the start of the test.
  std::vector<std::pair<int64_t, int64_t>> Runs() const {
    std::vector<std::pair<int64_t, int64_t>> runs;
    for (const NodeRun& run : history_.runs) {
      runs.emplace_back(absl::ToInt64Seconds(run.first - kStart),
                        absl::ToInt64Seconds(run.last - kStart));
    }
    return runs;
  }

  static constexpr absl::Time kStart = absl::UnixEpoch();
  NodeHistory::Limits limits_{.horizon = absl::Minutes(1), .join_within = absl::Seconds(6)};
  NodeSnapshot snapshot_{.taken_at = kStart};
  NodeHistory history_;
};

TEST_F(NodeHistoryTest, EqualReadingsAreOneRun) {
  TickBusy(50);
  for (int i = 0; i < 10; ++i) TickBusy(60);
  TickBusy(70);
  EXPECT_THAT(Runs(), ElementsAre(std::pair(2, 2), std::pair(4, 22), std::pair(24, 24)));
  EXPECT_EQ(history_.generation, 12);
}

TEST_F(NodeHistoryTest, FirstReadingIsARunOfItsOwn) {
  TickBusy(50);
  Tick();
  Tick();
  EXPECT_THAT(Runs(), ElementsAre(std::pair(2, 2), std::pair(4, 6)));
}

TEST_F(NodeHistoryTest, BlocksOfDroppedRunsAreReleased) {
  TickBusy(50);
  const std::weak_ptr<const NodeLayout> former = history_.runs.front().layout();
  snapshot_.gpus[0].name = "NVIDIA H200";
  TickBusy(60);
  EXPECT_FALSE(former.expired());
  for (absl::Duration past; past <= limits_.horizon; past += kTick) TickBusy(70);
  EXPECT_TRUE(former.expired());
}

TEST_F(NodeHistoryTest, OutageEndsARun) {
  Tick();
  Tick();
  Tick(absl::Seconds(7));
  EXPECT_THAT(Runs(), ElementsAre(std::pair(2, 2), std::pair(4, 4), std::pair(11, 11)));
}

TEST_F(NodeHistoryTest, UnchangedReadingExtendsTheNewestRun) {
  TickBusy(50);
  TickBusy(60);
  history_.Extend(kStart + absl::Seconds(8), limits_);
  EXPECT_THAT(Runs(), ElementsAre(std::pair(2, 2), std::pair(4, 8)));
  EXPECT_EQ(history_.generation, 3);
  EXPECT_EQ(history_.NewestAt(), kStart + absl::Seconds(8));
  history_.Extend(kStart + absl::Seconds(15), limits_);
  EXPECT_THAT(Runs(), ElementsAre(std::pair(2, 2), std::pair(4, 8), std::pair(15, 15)))
      << "no reading in between";
}

TEST_F(NodeHistoryTest, DropsRunsThatEndedBeforeTheHorizon) {
  TickBusy(1);
  TickBusy(2);
  for (int i = 0; i < 30; ++i) Tick();
  EXPECT_THAT(Runs(), ElementsAre(std::pair(4, 64)));
  TickBusy(3);
  EXPECT_THAT(Runs(), ElementsAre(std::pair(4, 64), std::pair(66, 66)));
}

TEST_F(NodeHistoryTest, LayoutIsSharedUntilAGpuOrAnOwnerChanges) {
  TickBusy(1);
  TickBusy(2);
  EXPECT_EQ(history_.runs[0].layout(), history_.runs[1].layout());
  snapshot_.pods = {{.namespace_name = "team-a", .name = "llm-0"}};
  snapshot_.gpus[0].holders = {{.pod = 0, .container = "main"}};
  snapshot_.attribution.state = Attribution::State::kKnown;
  Tick();
  EXPECT_NE(history_.runs[1].layout(), history_.runs[2].layout());
  EXPECT_EQ(history_.runs[2].layout()->pods[0].name, "llm-0");
  snapshot_.pods[0].ready = true;
  Tick();
  EXPECT_EQ(history_.runs.size(), 4u);
}

TEST_F(NodeHistoryTest, SharesOfAGpuAreReadings) {
  snapshot_.pods = {{.namespace_name = "a", .name = "x"}, {.namespace_name = "a", .name = "y"}};
  snapshot_.gpus[0].holders = {{.pod = 0, .container = "main", .share = 0.25},
                               {.pod = 1, .container = "main", .share = 0.75}};
  Tick();
  Tick();
  snapshot_.gpus[0].holders[0].share = 0.5;
  snapshot_.gpus[0].holders[1].share = 0.5;
  Tick();
  EXPECT_EQ(history_.runs[1].layout(), history_.runs[2].layout());
  EXPECT_THAT(SharesOf(history_.runs[1]), ElementsAre(0.25, 0.75));
  EXPECT_THAT(SharesOf(history_.runs[2]), ElementsAre(0.5, 0.5));
}

TEST_F(NodeHistoryTest, CopiesOfAHistoryMayBothContinueIt) {
  for (int i = 1; i <= 4; ++i) TickBusy(i);
  for (const bool same : {true, false}) {
    NodeHistory one = history_;
    NodeHistory other = history_;
    NodeSnapshot next = snapshot_;
    next.taken_at += kTick;
    next.gpus[0].utilization_percent = 50;
    one.Append(next, limits_);
    next.gpus[0].utilization_percent = same ? 50 : 60;
    other.Append(next, limits_);
    const auto newest = [](const NodeHistory& history) {
      return history.runs.back().point(0).Value(GpuReading::kUtilization);
    };
    EXPECT_EQ(newest(one), 50);
    EXPECT_EQ(newest(other), same ? 50 : 60);
    EXPECT_EQ(newest(history_), 4);
    EXPECT_EQ(one.runs.size(), 5u);
    EXPECT_EQ(other.runs.size(), 5u);
  }
}

TEST_F(NodeHistoryTest, LastKnownOwnersOutliveTheHorizon) {
  snapshot_.pods = {{.namespace_name = "team-a", .name = "llm-0"}};
  snapshot_.attribution.state = Attribution::State::kKnown;
  Tick();
  snapshot_.pods.clear();
  snapshot_.attribution = {.state = Attribution::State::kUnknown, .why = "no kubelet"};
  for (int i = 0; i < 100; ++i) TickBusy(i);
  ASSERT_NE(history_.attributed, nullptr);
  EXPECT_EQ(history_.attributed->pods[0].name, "llm-0");
}

TEST_F(NodeHistoryTest, KeepsTheMemoryOfAHolderThatHasLeft) {
  snapshot_.gpus[0].in_use = true;
  snapshot_.gpus[0].steady_memory.Add(kStart, 90);
  snapshot_.gpus[0].steady_memory.Add(kStart + absl::Minutes(3), 90);
  Tick();
  EXPECT_THAT(history_.past_holders, IsEmpty());
  snapshot_.gpus[0].in_use = false;
  snapshot_.gpus[0].steady_memory = {};
  Tick();
  ASSERT_EQ(history_.past_holders.size(), 1u);
  EXPECT_EQ(history_.past_holders[0].gpu_uuid, "GPU-a");
  EXPECT_TRUE(
      history_.past_holders[0].steady_memory.WasSteadyFor(absl::Minutes(2), absl::InfinitePast()));
  for (int i = 0; i < 31; ++i) Tick();
  EXPECT_THAT(history_.past_holders, IsEmpty()) << "beyond the horizon";
}

TEST_F(NodeHistoryTest, ReadingsAreDroppedBeforeLayouts) {
  limits_.readings = absl::Seconds(10);
  for (int i = 1; i <= 5; ++i) TickBusy(i);  // at 2 to 10
  const auto alone = history_.runs.back().layout();
  snapshot_.pods.push_back({.namespace_name = "team-a", .name = "llm-0"});
  for (int i = 1; i <= 10; ++i) TickBusy(i);  // at 12 to 30
  EXPECT_THAT(Runs().front(), std::pair(20, 20));
  EXPECT_EQ(history_.dropped_until - kStart, absl::Seconds(18));
  ASSERT_EQ(history_.past_layouts.size(), 2u);
  EXPECT_EQ(history_.past_layouts[0].layout, alone);
  EXPECT_EQ(history_.past_layouts[1].layout, history_.runs.back().layout());
  EXPECT_EQ(history_.past_layouts[1].first - kStart, absl::Seconds(12));
  for (int i = 1; i <= 22; ++i) TickBusy(i);  // until 74: the horizon is behind 12
  ASSERT_EQ(history_.past_layouts.size(), 1u);
  EXPECT_EQ(history_.past_layouts[0].first - kStart, absl::Seconds(12));
}

TEST_F(NodeHistoryTest, OnlyKeptReadingIsNotTheFirstOfAll) {
  limits_.readings = absl::Seconds(5);
  TickBusy(50);
  Tick(absl::Seconds(20));
  TickBusy(50);
  EXPECT_THAT(Runs(), ElementsAre(std::pair(22, 24)));
}

}  // namespace
}  // namespace gpuscaler
