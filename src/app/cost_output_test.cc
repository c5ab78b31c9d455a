#include "app/cost_output.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kOutputHour = int64_t{3'600} * 1'000'000;

CostOutput OneWorkload(const std::string& name, const PriceList* prices = nullptr) {
  Usage usage{.key = {.namespace_name = "shop", .workload = name, .gpu_model = "L4", .node = ""},
              .times = {}};
  usage.times[GpuState::kBusy] = 2 * kOutputHour;
  usage.times[GpuState::kIdle] = kOutputHour / 2;
  const absl::Time from = absl::FromUnixSeconds(1'767'225'600);
  CostOutput output;
  output.report =
      MakeCostReport(from, from + absl::Hours(24), GroupBy::kWorkload, {{usage}}, prices);
  return output;
}

class CostOutputTest : public testing::Test {
 protected:
  const absl::StatusOr<PriceList> prices_ = PriceList::Parse("GPU model,price per hour\nL4,0.5\n");
};

TEST_F(CostOutputTest, TableHasHoursAndMoney) {
  CostOutput output = OneWorkload("chat", &*prices_);
  output.currency = "USD";
  const std::string table = CostTable(output);
  EXPECT_THAT(table, StartsWith("GPU-hours by workload, 2026-01-01T00:00:00Z to "
                                "2026-01-02T00:00:00Z\n"));
  EXPECT_THAT(table, HasSubstr("COST USD  IDLE COST USD"));
  EXPECT_THAT(table, testing::ContainsRegex("shop/chat +2.00 +0.50 +0.00 +0.00 +0.00 +2.50 +1.25"));
  EXPECT_THAT(table, Not(HasSubstr("Estimate")));
}

TEST_F(CostOutputTest, WithoutPricesThereIsNoMoney) {
  EXPECT_THAT(CostTable(OneWorkload("chat")), Not(HasSubstr("COST")));
}

TEST_F(CostOutputTest, ModelsWithoutPriceAreNamed) {
  const auto others = PriceList::Parse("GPU model,price per hour\nH200,3\n");
  ASSERT_TRUE(others.ok()) << others.status();
  EXPECT_THAT(CostTable(OneWorkload("chat", &*others)), HasSubstr("No price for: L4."));
}

TEST_F(CostOutputTest, SavingsAreLabelledAsACalculation) {
  CostOutput output = OneWorkload("chat", &*prices_);
  output.currency = "EUR";
  output.saving = Saving{.static_micros = 24 * kOutputHour,
                         .held_micros = 5 * kOutputHour / 2,
                         .saved = Money::FromHundredths(1075)};
  EXPECT_THAT(CostTable(output), HasSubstr("Estimate, calculated and not measured"));
  EXPECT_THAT(CostTable(output), HasSubstr("Scaling saved 21.50 GPU-hours, or 10.75 EUR"));
  const auto json = nlohmann::json::parse(CostJson(output));
  EXPECT_EQ(json["estimate"]["kind"], "calculation");
  EXPECT_EQ(json["estimate"]["saved_cost"], 10.75);
}

TEST_F(CostOutputTest, CsvHasFocusColumns) {
  CostOutput output = OneWorkload("chat", &*prices_);
  output.currency = "USD";
  EXPECT_EQ(CostCsv(output),
            "BilledCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,"
            "ConsumedQuantity,ConsumedUnit,ResourceName,ResourceType,ServiceCategory,"
            "SubAccountName,x_Node,x_BusyHours,x_IdleHours,x_StartingHours,x_FreeHours,"
            "x_UnknownHours,x_IdleCost\n"
            "1.25,USD,Usage,2026-01-01T00:00:00Z,2026-01-02T00:00:00Z,2.500000,GPU-Hours,chat,,"
            "Compute,shop,,2.000000,0.500000,0.000000,0.000000,0.000000,0.25\n");
}

TEST_F(CostOutputTest, CsvNamesAreNoFormulas) {
  EXPECT_THAT(CostCsv(OneWorkload("=1+1,\"x\"")), HasSubstr(",\"'=1+1,\"\"x\"\"\","));
  EXPECT_THAT(CostCsv(OneWorkload("\t=1")), HasSubstr(",'\t=1,"));
  CostOutput output = OneWorkload("chat", &*prices_);
  output.currency = "=1+1";
  EXPECT_THAT(CostCsv(output), HasSubstr(",'=1+1,"));
}

TEST_F(CostOutputTest, JsonHasTheFieldsOfTheWebApi) {
  const auto json = nlohmann::json::parse(CostJson(OneWorkload("chat", &*prices_)));
  EXPECT_EQ(json["by"], "workload");
  EXPECT_EQ(json["priced"], true);
  EXPECT_EQ(json["from"], 1'767'225'600);
  ASSERT_EQ(json["rows"].size(), 1u);
  EXPECT_EQ(json["rows"][0]["key"], "shop/chat");
  EXPECT_EQ(json["rows"][0]["gpu_hours"]["busy"], 2);
  EXPECT_EQ(json["rows"][0]["cost"], 1.25);
  EXPECT_EQ(json["rows"][0]["node"], nullptr);
  EXPECT_EQ(json["total"]["total"], 2.5);
  EXPECT_EQ(json["estimate"], nullptr);
}

}  // namespace
}  // namespace gpuscaler
