#include "gpu/nvml_gpm.h"

#include <limits>

#include "gtest/gtest.h"

namespace gpuscaler::nvml {
struct GpmSampleData {};

namespace {

double reported = 0;

Return Alloc(GpmSample* sample) {
  *sample = new GpmSampleData;
  return kSuccess;
}
Return Free(GpmSample sample) {
  delete sample;
  return kSuccess;
}
Return Take(Device, unsigned, GpmSample) { return kSuccess; }
Return Report(GpmMetricsGet* get) {
  get->metrics[0].result = kSuccess;
  get->metrics[0].value = reported;
  return kSuccess;
}

TEST(GpmUtilization, IsAPercentageOrNothing) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const struct {
    double reported;
    Return result;
    std::optional<double> percent;
  } rows[] = {
      {42.5, kSuccess, 42.5},
      {100.3, kSuccess, 100},
      {-0.1, kSuccess, 0},
      {std::numeric_limits<double>::quiet_NaN(), kNoData, std::nullopt},
      {kInfinite, kNoData, std::nullopt},
      {-kInfinite, kNoData, std::nullopt},
  };
  const NvmlFunctions calls{.gpm_sample_alloc = Alloc,
                            .gpm_sample_free = Free,
                            .gpm_mig_sample = Take,
                            .gpm_metrics = Report};
  for (const auto& row : rows) {
    reported = row.reported;
    GpmUtilization gpm(calls);
    std::optional<double> percent;
    ASSERT_EQ(gpm.Read(nullptr, 1, absl::UnixEpoch(), percent), kSuccess);
    EXPECT_EQ(gpm.Read(nullptr, 1, absl::UnixEpoch() + absl::Seconds(1), percent), row.result)
        << row.reported;
    EXPECT_EQ(percent, row.percent) << row.reported;
  }
}

}  // namespace
}  // namespace gpuscaler::nvml
