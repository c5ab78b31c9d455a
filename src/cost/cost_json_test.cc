#include "cost/cost_json.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

CostRow RowOfHours(int64_t busy, int64_t idle) {
  constexpr int64_t kHour = int64_t{3'600} * 1'000'000;
  CostRow row;
  row.times[GpuState::kBusy] = busy * kHour;
  row.times[GpuState::kIdle] = idle * kHour / 4;
  return row;
}

TEST(CostJson, HasTheBytesOfTheWebApi) {
  CostRow row = RowOfHours(1, 2);
  row.cost = Money::FromHundredths(375);
  row.idle_cost = Money::FromHundredths(-5);
  nlohmann::ordered_json json = {{"key", "shop/llm"}};
  AddCosts(row, json);
  EXPECT_EQ(json.dump(),
            R"({"key":"shop/llm","gpu_hours":{"busy":1.0,"idle":0.5,"starting":0.0,"free":0.0,)"
            R"("unknown":0.0},"total":1.5,"cost":3.75,"idle_cost":-0.05})");
}

TEST(CostJson, UnknownMoneyIsNull) {
  nlohmann::ordered_json json;
  AddCosts(RowOfHours(1, 0), json);
  EXPECT_TRUE(json["cost"].is_null());
  EXPECT_TRUE(json["idle_cost"].is_null());
}

}  // namespace
}  // namespace gpuscaler
