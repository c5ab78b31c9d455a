#include "simulate/rate_curve.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

double At(const RateCurve& curve, double second) { return curve.RateAt(absl::Seconds(second)); }

TEST(RateCurve, StepIsHighBetweenTheFirstAndTheLastQuarter) {
  const RateCurve step = RateCurve::Step(1, 10, absl::Seconds(40));
  EXPECT_EQ(At(step, 9.9), 1);
  EXPECT_EQ(At(step, 10), 10);
  EXPECT_EQ(At(step, 29.9), 10);
  EXPECT_EQ(At(step, 30), 1);
}

TEST(RateCurve, BurstIsHighForAFifthOfEachPeriod) {
  const RateCurve burst = RateCurve::Burst(2, 20, absl::Seconds(10));
  EXPECT_EQ(At(burst, 0), 20);
  EXPECT_EQ(At(burst, 1.9), 20);
  EXPECT_EQ(At(burst, 2), 2);
  EXPECT_EQ(At(burst, 10), 20);
}

TEST(RateCurve, SineIsLowAtTheEndsOfAPeriodAndHighInItsMiddle) {
  const RateCurve sine = RateCurve::Sine(2, 10, absl::Seconds(60));
  EXPECT_NEAR(At(sine, 0), 2, 1e-9);
  EXPECT_NEAR(At(sine, 15), 6, 1e-9);
  EXPECT_NEAR(At(sine, 30), 10, 1e-9);
  EXPECT_NEAR(At(sine, 60), 2, 1e-9);
}

TEST(RateCurve, FileHoldsEachRateUntilTheNextLine) {
  const auto curve = RateCurve::Parse("# warm up\n\n5 10\r\n  7.5\t0 # pause\n20 3");
  ASSERT_TRUE(curve.ok()) << curve.status();
  EXPECT_EQ(At(*curve, 4.9), 0);
  EXPECT_EQ(At(*curve, 5), 10);
  EXPECT_EQ(At(*curve, 7.5), 0);
  EXPECT_EQ(At(*curve, 100), 3);
  EXPECT_EQ(curve->LastChange(), absl::Seconds(20));
}

TEST(RateCurve, AnErrorNamesItsLine) {
  const struct {
    const char* text;
    const char* want;
  } cases[] = {
      {"", "no line SECONDS RATE"},
      {"0 1\n5\n", "line 2: 1 word: use two numbers, SECONDS RATE"},
      {"0 1\n5 6 7\n", "line 2: 3 words"},
      {"0 1\n\nfive 6\n", "line 3: \"five\": the second is a number from 0 to 86400"},
      {"0 -1", "line 1: \"-1\": the rate is a number from 0 to 1000000"},
      {"0 1e999", "line 1: \"1e999\": the rate"},
      {"0 nan", "line 1: \"nan\": the rate"},
      {"5 1\n5 2", "line 2: 5: not later than the line before it"},
  };
  for (const auto& test : cases) {
    const auto curve = RateCurve::Parse(test.text);
    EXPECT_EQ(curve.status().code(), absl::StatusCode::kInvalidArgument) << test.text;
    EXPECT_THAT(curve.status().ToString(), HasSubstr(test.want)) << test.text;
  }
}

}  // namespace
}  // namespace gpuscaler
