#include "gpu/dcgm_schema.h"

#include <limits>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(DcgmSchema, BlanksOfEveryTypeAreUnknownAndLargeCountersAreNot) {
  const struct {
    double number;
    bool want;
  } rows[] = {
      {0, false},
      {100, false},
      {2147483631, false},
      {2147483632, true},  // DCGM_INT32_BLANK
      {2147483633, true},  // not found
      {2147483634, true},  // not supported
      {2147483635, true},  // not permitted
      {2147483636, false},
      {987654321012, false},      // mJ: 16 days at 700 W
      {140737488355328.0, true},  // DCGM_FP64_BLANK
      {140737488355331.0, true},
      {9223372036854775792.0, true},  // DCGM_INT64_BLANK
      {std::numeric_limits<double>::quiet_NaN(), true},
      {std::numeric_limits<double>::infinity(), true},
  };
  for (const auto& row : rows)
    EXPECT_EQ(DcgmSchema().is_unknown(row.number), row.want) << row.number;
}

TEST(DcgmSchema, NamesAreWholeNames) {
  const auto field = [](const char* name) { return MetricOf(DcgmSchema(), name)->field; };
  EXPECT_EQ(field("DCGM_FI_DEV_GPU_UTIL"), ExporterField::kGpuUtilization);
  EXPECT_EQ(field("DCGM_FI_DEV_CLOCKS_EVENT_REASONS"), ExporterField::kThrottleReasons);
  for (const char* name : {"", "DCGM_FI_DEV_GPU", "DCGM_FI_DEV_GPU_UTIL_X", "dcgm_gpu_util"}) {
    EXPECT_EQ(MetricOf(DcgmSchema(), name), nullptr) << name;
  }
}

}  // namespace
}  // namespace gpuscaler
