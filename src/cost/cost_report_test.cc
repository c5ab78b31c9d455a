#include "cost/cost_report.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kReportHour = int64_t{3'600} * 1'000'000;

Usage UsageOf(const std::string& namespace_name, const std::string& workload,
              const std::string& model, GpuState state, int64_t hours) {
  Usage usage{.key = {.namespace_name = namespace_name,
                      .workload = workload,
                      .gpu_model = model,
                      .node = "gpu-7"},
              .times = {}};
  usage.times[state] = hours * kReportHour;
  return usage;
}

class CostReportTest : public testing::Test {
 protected:
  CostReport Report(GroupBy by, const PriceList* prices = nullptr) const {
    return MakeCostReport(absl::UnixEpoch(), absl::UnixEpoch() + absl::Hours(24), by, usage_,
                          prices);
  }

  const std::vector<Usage> usage_ = {UsageOf("shop", "chat", "H200", GpuState::kBusy, 10),
                                     UsageOf("shop", "chat", "L4", GpuState::kIdle, 4),
                                     UsageOf("shop", "batch", "L4", GpuState::kStarting, 1),
                                     UsageOf("", "", "L4", GpuState::kFree, 3)};
};

std::vector<std::string> KeysOf(const CostReport& report) {
  std::vector<std::string> keys;
  for (const CostRow& row : report.rows) keys.push_back(row.key);
  return keys;
}

TEST_F(CostReportTest, RowsAreSumsByGroup) {
  EXPECT_THAT(KeysOf(Report(GroupBy::kNamespace)), ElementsAre("", "shop"));
  EXPECT_THAT(KeysOf(Report(GroupBy::kWorkload)), ElementsAre("", "shop/batch", "shop/chat"));
  EXPECT_THAT(KeysOf(Report(GroupBy::kModel)), ElementsAre("H200", "L4"));
  EXPECT_THAT(KeysOf(Report(GroupBy::kNode)), ElementsAre("gpu-7"));
  const CostReport report = Report(GroupBy::kNamespace);
  EXPECT_EQ(report.rows[1].times[GpuState::kIdle], 4 * kReportHour);
  EXPECT_EQ(report.rows[1].times.Total(), 15 * kReportHour);
  EXPECT_EQ(report.total.times.Total(), 18 * kReportHour);
  EXPECT_EQ(report.total.cost, std::nullopt);
  EXPECT_THAT(report.unpriced_models, IsEmpty());
}

TEST_F(CostReportTest, MoneyIsThatOfEachModel) {
  const auto prices = PriceList::Parse("GPU model,price per hour\nH200,3\nL4,0.5\n");
  ASSERT_TRUE(prices.ok()) << prices.status();
  const CostReport report = Report(GroupBy::kWorkload, &*prices);
  EXPECT_EQ(report.rows[2].cost->Text(), "32.00");
  EXPECT_EQ(report.rows[2].idle_cost->Text(), "2.00");
  EXPECT_EQ(report.total.cost->Text(), "34.00");
}

TEST_F(CostReportTest, ARowWithAModelWithoutPriceHasNoCost) {
  const auto prices = PriceList::Parse("GPU model,price per hour\nL4,0.5\n");
  ASSERT_TRUE(prices.ok()) << prices.status();
  const CostReport report = Report(GroupBy::kWorkload, &*prices);
  EXPECT_THAT(report.unpriced_models, ElementsAre("H200"));
  EXPECT_EQ(report.rows[1].cost->Text(), "0.50");
  EXPECT_EQ(report.rows[2].cost, std::nullopt);
  EXPECT_EQ(report.total.cost, std::nullopt);
}

TEST(GroupByNamed, ReadsBackNames) {
  for (const GroupBy by :
       {GroupBy::kNamespace, GroupBy::kWorkload, GroupBy::kModel, GroupBy::kNode}) {
    EXPECT_EQ(GroupByNamed(Name(by)), by);
  }
  EXPECT_EQ(GroupByNamed("pod"), std::nullopt);
}

}  // namespace
}  // namespace gpuscaler
