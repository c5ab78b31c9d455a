#include "simulate/arrivals.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

std::vector<double> SecondsOf(Arrivals arrivals) {
  std::vector<double> seconds;
  while (const auto next = arrivals.Next()) seconds.push_back(absl::ToDoubleSeconds(*next));
  return seconds;
}

TEST(Arrivals, EvenlySpacedArrivalsAreRateTimesDuration) {
  const auto seconds =
      SecondsOf(Arrivals(RateCurve::Constant(40), absl::Seconds(5), Spacing::kEven, 1));
  ASSERT_EQ(seconds.size(), 200U);
  for (size_t i = 0; i < seconds.size(); ++i) {
    EXPECT_NEAR(seconds[i], (static_cast<double>(i) + 0.5) / 40, 1e-6);
  }
}

TEST(Arrivals, SeveralMayShareAMillisecond) {
  const auto seconds =
      SecondsOf(Arrivals(RateCurve::Constant(20'000), absl::Seconds(1), Spacing::kEven, 1));
  EXPECT_NEAR(static_cast<double>(seconds.size()), 20'000, 1);
  EXPECT_TRUE(std::is_sorted(seconds.begin(), seconds.end()));
  EXPECT_NEAR(seconds[1] - seconds[0], 1 / 20'000.0, 1e-7);
}

TEST(Arrivals, FollowTheCurve) {
  const auto curve = RateCurve::Parse("1 10\n2 0\n3 100\n4 0");
  ASSERT_TRUE(curve.ok());
  int before = 0, first = 0, pause = 0, second = 0;
  for (const double at : SecondsOf(Arrivals(*curve, absl::Seconds(10), Spacing::kEven, 1))) {
    ++(at < 1 ? before : at < 2 ? first : at < 3 ? pause : second);
  }
  EXPECT_EQ(before, 0);
  EXPECT_EQ(first, 10);
  EXPECT_LE(pause, 1);
  EXPECT_NEAR(second, 100, 1);
}

TEST(Arrivals, PoissonGapsHaveADeviationEqualToTheirMean) {
  const auto seconds =
      SecondsOf(Arrivals(RateCurve::Constant(100), absl::Seconds(1000), Spacing::kPoisson, 7));
  const auto count = static_cast<double>(seconds.size());
  EXPECT_NEAR(count, 100'000, 5 * std::sqrt(100'000));
  double sum_of_squares = 0;
  for (size_t i = 1; i < seconds.size(); ++i) {
    sum_of_squares += std::pow(seconds[i] - seconds[i - 1] - 0.01, 2);
  }
  EXPECT_NEAR(std::sqrt(sum_of_squares / count), 0.01, 0.0005);
}

TEST(Arrivals, AreTheSameForTheSameSeed) {
  const auto with_seed = [](uint64_t seed) {
    return SecondsOf(Arrivals(RateCurve::Constant(10), absl::Seconds(10), Spacing::kPoisson, seed));
  };
  EXPECT_EQ(with_seed(1), with_seed(1));
  EXPECT_NE(with_seed(1), with_seed(2));
}

TEST(Arrivals, RateZeroHasNone) {
  EXPECT_TRUE(
      SecondsOf(Arrivals(RateCurve::Constant(0), absl::Hours(1), Spacing::kPoisson, 1)).empty());
}

}  // namespace
}  // namespace gpuscaler
