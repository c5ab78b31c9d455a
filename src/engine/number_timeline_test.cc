#include "engine/number_timeline.h"

#include "engine/test_seconds.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

CounterPoint Counted(int second, double value) {
  return {.instant = {.at = Second(second)}, .value = value};
}

TEST(NumberTimeline, ReturnsTheNumbersAsRead) {
  NumberTimeline length(/*is_rate=*/false);
  length.AddPoint(Counted(0, 47));
  length.AddPoint(Counted(1, 42));
  const SignalSeries series =
      length.Answer({.look_back = absl::Seconds(5)}, Second(1), kLongestGap);
  EXPECT_THAT(series.points, ElementsAre(SignalPoint{Second(0), 47}, SignalPoint{Second(1), 42}));
  EXPECT_EQ(series.error, "");
  EXPECT_EQ(series.first_read_at, Second(0));
}

TEST(NumberTimeline, WithoutALookBackReturnsTheNewest) {
  NumberTimeline length(/*is_rate=*/false);
  length.AddPoint(Counted(0, 47));
  length.AddPoint(Counted(1, 42));
  EXPECT_THAT(length.Answer({}, Second(9), kLongestGap).points,
              ElementsAre(SignalPoint{Second(1), 42}));
}

TEST(NumberTimeline, RateIsGrowthPerSecondOverTheWindow) {
  NumberTimeline rate(/*is_rate=*/true);
  rate.AddPoint(Counted(0, 100));
  const EngineQuery query{.window = absl::Seconds(4), .look_back = absl::Seconds(1)};
  EXPECT_EQ(rate.Answer(query, Second(0), kLongestGap).error, "how fast it grows is not known yet");
  for (int second = 1; second <= 4; ++second) rate.AddPoint(Counted(second, 100 + 10.0 * second));
  EXPECT_THAT(rate.Answer(query, Second(4), kLongestGap).points,
              ElementsAre(SignalPoint{Second(2), 10}, SignalPoint{Second(3), 10},
                          SignalPoint{Second(4), 10}));
}

TEST(NumberTimeline, FailureIsTheGapAndKeepsEarlierPoints) {
  NumberTimeline length(/*is_rate=*/false);
  EXPECT_EQ(length.Answer({}, Second(0), kLongestGap).error, "not read yet");
  EXPECT_EQ(length.Answer({}, Second(0), kLongestGap).first_read_at, absl::InfiniteFuture());
  length.AddPoint(Counted(0, 47));
  length.AddPoint(absl::UnavailableError("connection refused"));
  const SignalSeries series = length.Answer({}, Second(1), kLongestGap);
  EXPECT_EQ(series.error, "connection refused");
  EXPECT_THAT(series.points, ElementsAre(SignalPoint{Second(0), 47}));
}

TEST(NumberTimeline, ForgetsPointsBeforeTheLookBack) {
  NumberTimeline length(/*is_rate=*/false);
  for (int second = 0; second < 100; ++second) {
    length.AddPoint(Counted(second, second));
    length.Forget(Second(second - 10));
  }
  const SignalSeries series = length.Answer({.look_back = absl::Hours(1)}, Second(99), kLongestGap);
  EXPECT_LE(series.points.front().at, Second(89));
  EXPECT_LE(series.points.size(), 24u);
}

}  // namespace
}  // namespace gpuscaler
