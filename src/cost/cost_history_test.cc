#include "cost/cost_history.h"

#include <memory>
#include <utility>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

// 2026-01-01T00:00:00Z
const absl::Time kMidnight = absl::FromUnixSeconds(1'767'225'600);
constexpr int64_t kHistorySecond = 1'000'000;

// A fleet of nodes with one GPU each, read every 5 s.
class CostHistoryTest : public testing::Test {
 protected:
  void ReadNode(const std::string& node, std::optional<double> utilization) {
    NodeSnapshot snapshot{.taken_at = now_, .node = node};
    snapshot.attribution.state = Attribution::State::kKnown;
    GpuSample gpu{.uuid = "GPU-" + node, .name = "NVIDIA H200", .utilization_percent = 0};
    if (utilization) {
      snapshot.pods = {{.namespace_name = "shop", .name = "chat", .owners = {}, .ready = true}};
      gpu.utilization_percent = utilization;
      gpu.holders = {{.pod = 0}};
    }
    snapshot.gpus = {gpu};
    auto history = std::make_shared<NodeHistory>();
    history->Append(std::move(snapshot),
                    {.horizon = absl::Minutes(15), .join_within = absl::Seconds(6)});
    nodes_[node] = std::move(history);
  }
  void Record() {
    FleetHistory fleet{.now = now_};
    for (const auto& [node, history] : nodes_) {
      fleet.nodes.push_back({.node = node, .history = history, .received_at = now_});
    }
    history_.Record(now_, fleet);
  }
  void RunFor(absl::Duration time, std::optional<double> utilization) {
    for (const absl::Time end = now_ + time; now_ < end;) {
      now_ += CostHistory::kRecordEvery;
      ReadNode("a", utilization);
      Record();
    }
  }

  absl::Time now_ = kMidnight + absl::Minutes(30);
  std::map<std::string, std::shared_ptr<NodeHistory>> nodes_;
  CostHistory history_{
      GpuTimeLimits{.idle_after = absl::Minutes(5), .stale_after = absl::Seconds(6)}};
};

TEST_F(CostHistoryTest, HasNothingBeforeTheFirstRecord) {
  EXPECT_EQ(history_.since(), absl::InfiniteFuture());
  EXPECT_TRUE(history_.Report(24, GroupBy::kNamespace, nullptr).rows.empty());
}

TEST_F(CostHistoryTest, SumsUpTheFleetByWorkloadAndNode) {
  ReadNode("a", 40);
  ReadNode("b", std::nullopt);
  Record();
  now_ += absl::Seconds(15);
  ReadNode("a", 40);
  ReadNode("b", std::nullopt);
  Record();
  const CostReport by_namespace = history_.Report(1, GroupBy::kNamespace, nullptr);
  ASSERT_EQ(by_namespace.rows.size(), 2u);
  EXPECT_EQ(by_namespace.rows[0].times[GpuState::kFree], 15 * kHistorySecond);
  EXPECT_EQ(by_namespace.rows[1].key, "shop");
  EXPECT_EQ(by_namespace.rows[1].times[GpuState::kBusy], 15 * kHistorySecond);
  const CostReport by_node = history_.Report(1, GroupBy::kNode, nullptr);
  ASSERT_EQ(by_node.rows.size(), 2u);
  EXPECT_EQ(by_node.rows[0].key, "a");
  EXPECT_EQ(by_node.total.times, by_namespace.total.times);
  EXPECT_EQ(by_node.from, kMidnight + absl::Minutes(30));
  EXPECT_EQ(by_node.to, now_);
}

TEST_F(CostHistoryTest, TimeWithoutReadingsIsUnknownWhileTheNodeIsListed) {
  RunFor(absl::Minutes(5), 40);
  for (int i = 0; i < 20; ++i) {
    now_ += CostHistory::kRecordEvery;
    Record();
  }
  const CostReport report = history_.Report(1, GroupBy::kNamespace, nullptr);
  EXPECT_EQ(report.total.times[GpuState::kUnknown], (300 - 30) * kHistorySecond);
  nodes_.clear();
  now_ += absl::Hours(1);
  Record();
  EXPECT_EQ(history_.Report(24, GroupBy::kNamespace, nullptr).total.times, report.total.times);
}

TEST_F(CostHistoryTest, KeepsADayByTheHour) {
  RunFor(absl::Hours(2), 40);
  RunFor(absl::Hours(24), std::nullopt);
  const CostReport day = history_.Report(24, GroupBy::kNamespace, nullptr);
  EXPECT_EQ(day.from, kMidnight + absl::Hours(2));
  EXPECT_EQ(day.to, kMidnight + absl::Hours(26) + absl::Minutes(30));
  EXPECT_EQ(day.total.times[GpuState::kBusy], 30 * 60 * kHistorySecond);
  EXPECT_EQ(day.total.times[GpuState::kFree], 24 * 3'600 * kHistorySecond);
  const CostReport hour = history_.Report(1, GroupBy::kNamespace, nullptr);
  EXPECT_EQ(hour.from, kMidnight + absl::Hours(25));
  EXPECT_EQ(hour.total.times.Total(), 90 * 60 * kHistorySecond);
}

}  // namespace
}  // namespace gpuscaler
