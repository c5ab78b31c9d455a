#include "lab/cost_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(CostTable, ComparesWithItsFirstRow) {
  const std::string table = CostTable(
      {{.name = "this scaler", .gpu_seconds = 100, .served = 4, .mean_latency = absl::Seconds(2)},
       {.name = "static", .gpu_seconds = 250, .served = 4}});
  EXPECT_THAT(table, ::testing::HasSubstr("mean latency  longest final replicas\n"));
  EXPECT_THAT(table, ::testing::HasSubstr("this scaler"));
  EXPECT_THAT(table, ::testing::HasSubstr("2s"));
  EXPECT_THAT(table, ::testing::HasSubstr("+150 % GPU-seconds"));
}

}  // namespace
}  // namespace gpuscaler
