#include "gpu/nvml_gpm.h"

#include <limits>
#include <map>

#include "gtest/gtest.h"

namespace gpuscaler::nvml {
struct GpmSampleData {};

namespace {

Return query_result = kSuccess;
int queries = 0;
Return sample_result = kSuccess;
int samples = 0;
std::map<uint32_t, GpmMetric> reported;  // key: id; a missing one is NOT_SUPPORTED

Return Query(Device, GpmSupport* support) {
  ++queries;
  support->supported = 1;
  return query_result;
}
Return Alloc(GpmSample* sample) {
  *sample = new GpmSampleData;
  return kSuccess;
}
Return Free(GpmSample sample) {
  delete sample;
  return kSuccess;
}
Return Take(Device, GpmSample) {
  ++samples;
  return sample_result;
}
Return Report(GpmMetricsGet* get) {
  for (uint32_t i = 0; i < get->count; ++i) {
    const auto found = reported.find(get->metrics[i].id);
    get->metrics[i].result = found == reported.end() ? kNotSupported : found->second.result;
    if (found != reported.end()) get->metrics[i].value = found->second.value;
  }
  return kSuccess;
}

const NvmlFunctions kCalls{.gpm_support = Query,
                           .gpm_sample_alloc = Alloc,
                           .gpm_sample_free = Free,
                           .gpm_sample = Take,
                           .gpm_metrics = Report};

class GpmReaderTest : public testing::Test {
 protected:
  GpmReaderTest() {
    query_result = sample_result = kSuccess;
    queries = samples = 0;
    reported = {{kGpmSmUtilization, {.value = 40}}, {kGpmDramUtilization, {.value = 70}}};
  }

  void SampleAt(absl::Duration at) { gpm_.Sample(nullptr, std::nullopt, absl::UnixEpoch() + at); }
  std::optional<double> Percent(uint32_t metric, Return want = kSuccess) const {
    std::optional<double> percent;
    EXPECT_EQ(gpm_.Percent(metric, percent), want);
    return percent;
  }

  GpmReader gpm_{kCalls};
};

TEST_F(GpmReaderTest, ResultIsAPercentageOrNothing) {
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
  absl::Duration at;
  SampleAt(at);
  EXPECT_EQ(Percent(kGpmSmUtilization), std::nullopt) << "one sample";
  for (const auto& row : rows) {
    reported[kGpmSmUtilization].value = row.reported;
    SampleAt(at += absl::Seconds(1));
    EXPECT_EQ(Percent(kGpmSmUtilization, row.result), row.percent) << row.reported;
  }
}

TEST_F(GpmReaderTest, OneSampleHasAllMetricsAndEachItsOwnResult) {
  SampleAt(absl::ZeroDuration());
  SampleAt(absl::Seconds(1));
  EXPECT_EQ(samples, 2);
  EXPECT_EQ(Percent(kGpmSmUtilization), 40);
  EXPECT_EQ(Percent(kGpmDramUtilization), 70);
  EXPECT_EQ(Percent(kGpmTensorUtilization, kNotSupported), std::nullopt);
}

TEST_F(GpmReaderTest, ResultsStayWhileTheLastSampleIsTooNew) {
  SampleAt(absl::ZeroDuration());
  SampleAt(absl::Seconds(1));
  reported[kGpmSmUtilization].value = 90;
  SampleAt(absl::Milliseconds(1149));
  EXPECT_EQ(Percent(kGpmSmUtilization), 40);
  EXPECT_EQ(samples, 2);
  SampleAt(absl::Milliseconds(1150));
  EXPECT_EQ(Percent(kGpmSmUtilization), 90);
}

TEST_F(GpmReaderTest, RefusedPermissionIsTriedAgainAfterAMinute) {
  SampleAt(absl::ZeroDuration());
  SampleAt(absl::Seconds(1));
  sample_result = kNoPermission;
  SampleAt(absl::Seconds(2));
  EXPECT_EQ(samples, 3);
  EXPECT_EQ(Percent(kGpmSmUtilization, kNoPermission), std::nullopt) << "40 is old";
  sample_result = kSuccess;
  for (int second = 3; second < 62; ++second) SampleAt(absl::Seconds(second));
  EXPECT_EQ(samples, 3);
  EXPECT_EQ(Percent(kGpmSmUtilization, kNoPermission), std::nullopt);
  SampleAt(absl::Seconds(62));
  EXPECT_EQ(samples, 4);
  EXPECT_EQ(Percent(kGpmSmUtilization), 40);
}

TEST_F(GpmReaderTest, RefusedQueryIsTriedAgainAfterAMinute) {
  query_result = kNoPermission;
  for (int second = 0; second < 60; ++second) SampleAt(absl::Seconds(second));
  EXPECT_EQ(queries, 1);
  EXPECT_EQ(samples, 0);
  EXPECT_EQ(Percent(kGpmSmUtilization, kNoPermission), std::nullopt);
  query_result = kSuccess;
  SampleAt(absl::Seconds(60));
  EXPECT_EQ(queries, 2);
  EXPECT_EQ(samples, 1);
}

TEST_F(GpmReaderTest, RefusalOfEveryMetricIsARefusal) {
  for (const uint32_t metric :
       {kGpmGraphicsUtilization, kGpmSmUtilization, kGpmDramUtilization, kGpmTensorUtilization}) {
    reported[metric].result = kNoPermission;
  }
  SampleAt(absl::ZeroDuration());
  SampleAt(absl::Seconds(1));
  SampleAt(absl::Seconds(2));
  EXPECT_EQ(samples, 2);
  EXPECT_EQ(Percent(kGpmSmUtilization, kNoPermission), std::nullopt);
}

TEST_F(GpmReaderTest, OtherFailureIsTriedAgainAtOnce) {
  SampleAt(absl::ZeroDuration());
  sample_result = kUnknown;
  SampleAt(absl::Seconds(1));
  EXPECT_EQ(Percent(kGpmSmUtilization, kUnknown), std::nullopt);
  sample_result = kSuccess;
  SampleAt(absl::Seconds(2));
  EXPECT_EQ(Percent(kGpmSmUtilization), 40) << "since the sample before the failure";
}

TEST_F(GpmReaderTest, GpuThatCannotBeSampledHasNoGpm) {
  sample_result = kNotSupported;
  SampleAt(absl::ZeroDuration());
  SampleAt(absl::Seconds(1));
  EXPECT_EQ(samples, 1);
  EXPECT_EQ(gpm_.Query(nullptr, absl::UnixEpoch()), kNotSupported);
  EXPECT_EQ(Percent(kGpmSmUtilization, kNotSupported), std::nullopt);
}

TEST_F(GpmReaderTest, SampleAfterForgetIsTheFirst) {
  SampleAt(absl::ZeroDuration());
  SampleAt(absl::Seconds(1));
  gpm_.Forget();
  SampleAt(absl::Hours(1));
  EXPECT_EQ(Percent(kGpmSmUtilization), std::nullopt) << "not a mean over an hour";
}

}  // namespace
}  // namespace gpuscaler::nvml
