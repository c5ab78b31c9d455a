#include "cost/price_list.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

constexpr absl::string_view kOpenCostHeader =
    "EndTimestamp,InstanceID,Region,AssetClass,InstanceIDField,InstanceType,MarketPriceHourly,"
    "Version\n";

HourlyPrice Micros(int64_t micro_units) { return {.micro_units = micro_units}; }

TEST(PriceList, ReadsModelsAndPrices) {
  const auto prices = PriceList::Parse(
      "# our contract\nGPU model,price per hour\nNVIDIA H100 80GB HBM3,2.45\r\n"
      "\"NVIDIA A100, 40 GB\", 1.10\n\n");
  ASSERT_TRUE(prices.ok()) << prices.status();
  EXPECT_EQ(prices->size(), 2u);
  EXPECT_THAT(prices->PriceOf("NVIDIA H100 80GB HBM3"), Optional(Micros(2'450'000)));
  EXPECT_THAT(prices->PriceOf("nvidia-h100-80gb-hbm3"), Optional(Micros(2'450'000)));
  EXPECT_THAT(prices->PriceOf("NVIDIA A100, 40 GB"), Optional(Micros(1'100'000)));
  EXPECT_EQ(prices->PriceOf("NVIDIA H100"), std::nullopt);
  EXPECT_EQ(prices->PriceOf(""), std::nullopt);
}

TEST(PriceList, ReadsTheNewestGpuPricesOfOpenCost) {
  const auto prices = PriceList::Parse(
      absl::StrCat(kOpenCostHeader,
                   "2026-01-01T00:00:00Z,NVIDIA-L4,,gpu,gpu.nvidia.com/class,,0.80,v1\n"
                   "2025-01-01 00:00:00 UTC,NVIDIA-L4,,gpu,gpu.nvidia.com/class,,0.90,v1\n"
                   ",node-1,eu,node,metadata.name,g6.xlarge,3.00,v1\n"
                   ",Tesla_T4,,gpu,gpu.nvidia.com/class,,0.35,v1\n"));
  ASSERT_TRUE(prices.ok()) << prices.status();
  EXPECT_EQ(prices->size(), 2u);
  EXPECT_THAT(prices->PriceOf("NVIDIA L4"), Optional(Micros(800'000)));
  EXPECT_THAT(prices->PriceOf("Tesla T4"), Optional(Micros(350'000)));
}

TEST(PriceList, FaultsNameTheLineAndWhatIsAllowed) {
  const struct {
    std::string text;
    const char* want;
  } kRows[] = {
      {"", "no price"},
      {"GPU model,price per hour\n", "no price"},
      {"model;price\nL4;1\n", "line 1: the header is neither"},
      {"GPU model,price per hour\nL4,1\nL4,2\n", "line 3: GPU model \"L4\" has a price already"},
      {"GPU model,price per hour\nL4,free\n", "line 2: \"free\" is not a price"},
      {"GPU model,price per hour\n,1\n", "line 2: the GPU model is empty"},
      {"GPU model,price per hour\nL4\n", "line 2: it has 1 cells, and the header 2"},
      {"GPU model,price per hour\n\"L4,1\n", "line 2: a quoted cell does not end"},
      {absl::StrCat(kOpenCostHeader, "yesterday,L4,,gpu,,,1,v1\n"), "line 2: EndTimestamp"},
      {std::string(PriceList::kMaxBytes + 1, '#'), "1 MiB"}};
  for (const auto& row : kRows) {
    const absl::Status fault = PriceList::Parse(row.text).status();
    EXPECT_EQ(fault.code(), absl::StatusCode::kInvalidArgument) << row.want;
    EXPECT_THAT(fault.message(), HasSubstr(row.want));
  }
}

}  // namespace
}  // namespace gpuscaler
