#include "engine/scraped_group.h"

#include "absl/strings/str_cat.h"
#include "engine/test_seconds.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Addresses = std::vector<std::string>;

const EngineQuery kOverFour{.window = absl::Seconds(4), .look_back = absl::Seconds(60)};

CounterPoint Shown(double second, double value) {
  return {.instant = {.at = Second(0) + absl::Seconds(second)}, .value = value};
}

std::vector<SignalPoint> PointsOf(const ScrapedGroup& pages, int now) {
  return pages.Answer(kOverFour, Second(now), kLongestGap).points;
}

std::optional<double> NewestOf(const ScrapedGroup& pages, int now) {
  const std::vector<SignalPoint> points = PointsOf(pages, now);
  return points.empty() ? std::nullopt : points.back().value;
}

TEST(ScrapedGroup, AddsTheValuesOfAllAddresses) {
  ScrapedGroup queue(/*is_rate=*/false);
  EXPECT_TRUE(queue.SetAddresses(Addresses{"10.0.0.1", "10.0.0.2"}));
  EXPECT_FALSE(queue.SetAddresses(Addresses{"10.0.0.2", "10.0.0.1"}));
  queue.AddSample("10.0.0.1", Shown(1, 12));
  EXPECT_THAT(PointsOf(queue, 1), IsEmpty()) << "a part is not the whole";
  queue.AddSample("10.0.0.2", Shown(1.5, 3));
  queue.AddSample("10.0.0.1", Shown(2, 20));
  EXPECT_THAT(PointsOf(queue, 2), ElementsAre(SignalPoint{Second(1) + absl::Seconds(0.5), 15},
                                              SignalPoint{Second(2), 23}));
  const SignalSeries series = queue.Answer(kOverFour, Second(2), kLongestGap);
  ASSERT_EQ(series.parts.size(), 2u);
  EXPECT_EQ(series.parts[0].address, "10.0.0.1");
  EXPECT_EQ(series.parts[0].value, 20);
  EXPECT_EQ(series.parts[1].value, 3);
}

TEST(ScrapedGroup, FailedAddressMakesTheSumUnknownNotSmaller) {
  ScrapedGroup queue(/*is_rate=*/false);
  queue.SetAddresses(Addresses{"10.0.0.1", "10.0.0.2"});
  queue.AddSample("10.0.0.1", Shown(1, 12));
  queue.AddSample("10.0.0.2", Shown(1, 3));
  queue.AddSample("10.0.0.2", absl::UnavailableError("gateway:9090 (10.0.0.2): refused"));
  queue.AddSample("10.0.0.1", Shown(2, 40));
  EXPECT_THAT(PointsOf(queue, 2), ElementsAre(SignalPoint{Second(1), 15}));
  const SignalSeries series = queue.Answer(kOverFour, Second(2), kLongestGap);
  EXPECT_EQ(series.error, "gateway:9090 (10.0.0.2): refused");
  EXPECT_EQ(series.parts[0].value, 40);
  EXPECT_EQ(series.parts[1].value, std::nullopt);
  EXPECT_EQ(series.parts[1].error, "gateway:9090 (10.0.0.2): refused");

  queue.AddSample("10.0.0.2", Shown(3, 5));
  EXPECT_EQ(NewestOf(queue, 3), 45);
  EXPECT_EQ(queue.Answer(kOverFour, Second(3), kLongestGap).error, "");
}

TEST(ScrapedGroup, PastSumsSurviveChangesOfAddresses) {
  ScrapedGroup queue(/*is_rate=*/false);
  queue.SetAddresses(Addresses{"10.0.0.1", "10.0.0.2"});
  queue.AddSample("10.0.0.1", Shown(1, 12));
  queue.AddSample("10.0.0.2", Shown(1, 3));
  EXPECT_TRUE(queue.SetAddresses(Addresses{"10.0.0.1", "10.0.0.3"}));
  EXPECT_FALSE(queue.AddSample("10.0.0.2", Shown(2, 100))) << "it is no longer polled";
  queue.AddSample("10.0.0.1", Shown(2, 12));
  queue.AddSample("10.0.0.3", Shown(3, 0));
  EXPECT_THAT(PointsOf(queue, 3),
              ElementsAre(SignalPoint{Second(1), 15}, SignalPoint{Second(3), 12}));
}

TEST(ScrapedGroup, RemovedFailedAddressNoLongerBlocksTheSum) {
  ScrapedGroup queue(/*is_rate=*/false);
  queue.SetAddresses(Addresses{"10.0.0.1", "10.0.0.2"});
  queue.AddSample("10.0.0.2", absl::UnavailableError("refused"));
  queue.AddSample("10.0.0.1", Shown(1, 12));
  EXPECT_EQ(NewestOf(queue, 1), std::nullopt);
  queue.SetAddresses(Addresses{"10.0.0.1"});
  queue.AddSample("10.0.0.1", Shown(2, 12));
  EXPECT_EQ(NewestOf(queue, 2), 12);
  EXPECT_EQ(queue.Answer(kOverFour, Second(2), kLongestGap).error, "");
}

TEST(ScrapedGroup, RateIsTheSumOfRatesWhileAddressesChange) {
  ScrapedGroup served(/*is_rate=*/true);
  served.SetAddresses(Addresses{"10.0.0.1", "10.0.0.2"});
  for (int second = 0; second <= 8; ++second) {
    served.AddSample("10.0.0.1", Shown(second, 10.0 * second));
    served.AddSample("10.0.0.2", Shown(second + 0.5, 1000 + 20.0 * second));
  }
  EXPECT_NEAR(NewestOf(served, 9).value_or(0), 30, 3);
  const SignalSeries series = served.Answer(kOverFour, Second(9), kLongestGap);
  EXPECT_EQ(series.parts[0].value, 10);
  EXPECT_EQ(series.parts[1].value, 20);

  served.SetAddresses(Addresses{"10.0.0.1", "10.0.0.3"});
  for (int second = 9; second <= 16; ++second) {
    served.AddSample("10.0.0.1", Shown(second, 10.0 * second));
    served.AddSample("10.0.0.3", Shown(second + 0.5, 5000 + 20.0 * second));
  }
  EXPECT_NEAR(NewestOf(served, 17).value_or(0), 30, 3)
      << "what the new one had counted before is no growth";
  for (const SignalPoint& point : PointsOf(served, 17)) {
    EXPECT_LT(point.value.value_or(0), 40) << point.at;
  }
}

TEST(ScrapedGroup, RestartedCounterCountsFromItsNewValue) {
  ScrapedGroup served(/*is_rate=*/true);
  served.SetAddresses(Addresses{"10.0.0.1"});
  for (int second = 0; second <= 4; ++second)
    served.AddSample("10.0.0.1", Shown(second, 10.0 * second));
  for (int second = 5; second <= 12; ++second) {
    served.AddSample("10.0.0.1", Shown(second, 10.0 * (second - 5)));
  }
  EXPECT_EQ(NewestOf(served, 12), 10);
}

TEST(ScrapedGroup, ListErrorIsReturnedAndKeepsThePast) {
  ScrapedGroup queue(/*is_rate=*/false);
  EXPECT_TRUE(queue.SetAddresses(absl::UnavailableError("gateway has no address")));
  EXPECT_FALSE(queue.SetAddresses(absl::UnavailableError("gateway has no address")));
  EXPECT_EQ(queue.Answer({}, Second(0), kLongestGap).error, "gateway has no address");
  EXPECT_TRUE(queue.SetAddresses(Addresses{"10.0.0.1"}));
  queue.AddSample("10.0.0.1", Shown(1, 12));
  EXPECT_TRUE(queue.SetAddresses(absl::UnavailableError("gateway has no address")));
  EXPECT_FALSE(queue.AddSample("10.0.0.1", Shown(2, 13)));
  EXPECT_EQ(queue.Answer(kOverFour, Second(2), kLongestGap).error, "gateway has no address");
  EXPECT_EQ(NewestOf(queue, 2), 12);
}

TEST(ScrapedGroup, TooManyAddressesAreAnError) {
  ScrapedGroup queue(/*is_rate=*/false);
  Addresses many;
  for (size_t i = 0; i <= kMaxPages; ++i) many.push_back(absl::StrCat("10.0.1.", i));
  EXPECT_TRUE(queue.SetAddresses(many));
  EXPECT_THAT(queue.Answer({}, Second(0), kLongestGap).error, HasSubstr("101 addresses"));
}

TEST(ScrapedGroup, ForgetsReadingsBeforeTheLookBack) {
  ScrapedGroup queue(/*is_rate=*/false);
  queue.SetAddresses(Addresses{"10.0.0.1"});
  for (int second = 0; second < 1000; ++second) {
    queue.AddSample("10.0.0.1", Shown(second, second));
    queue.Forget(Second(second - 10));
  }
  EXPECT_LT(queue.Bytes(), 10'000u);
  EXPECT_EQ(NewestOf(queue, 999), 999);
}

const EngineQuery kOfDemand{.look_back = absl::Seconds(5), .demand_window = absl::Minutes(15)};

double ArrivedIn(const ScrapedGroup& pages, int now) {
  double arrived = 0;
  const SignalSeries series = pages.Answer(kOfDemand, Second(now), kLongestGap);
  for (const RequestBin& bin : series.demand->bins) arrived += bin.arrived;
  return arrived;
}

TEST(ScrapedGroup, GrowthOfAGaugeIsArrivals) {
  ScrapedGroup queue(/*is_rate=*/false);
  queue.SetAddresses(Addresses{"10.0.0.1", "10.0.0.2"});
  queue.AddSample("10.0.0.1", Shown(1, 12));
  EXPECT_EQ(queue.Answer(kOfDemand, Second(1), kLongestGap).demand, nullptr);
  queue.AddSample("10.0.0.2", Shown(1, 3));
  EXPECT_EQ(ArrivedIn(queue, 1), 0) << "their arrival time is unknown";
  queue.AddSample("10.0.0.1", Shown(2, 20));
  EXPECT_NEAR(ArrivedIn(queue, 2), 8, 1e-9);
  EXPECT_EQ(queue.Answer(kOfDemand, Second(2), kLongestGap).demand->waiting, 23);
  queue.AddSample("10.0.0.2", Shown(3, 0));
  EXPECT_NEAR(ArrivedIn(queue, 3), 5, 1e-9) << "requests that leave one address are not arrivals";
  EXPECT_EQ(queue.Answer(kOverFour, Second(3), kLongestGap).demand, nullptr);
}

TEST(ScrapedGroup, AddressChangesAreNotArrivals) {
  ScrapedGroup queue(/*is_rate=*/false);
  queue.SetAddresses(Addresses{"10.0.0.1", "10.0.0.2"});
  queue.AddSample("10.0.0.1", Shown(1, 12));
  queue.AddSample("10.0.0.2", Shown(1, 3));
  queue.SetAddresses(Addresses{"10.0.0.2"});
  queue.AddSample("10.0.0.2", Shown(2, 3));
  EXPECT_NEAR(ArrivedIn(queue, 2), 0, 1e-9);
  queue.SetAddresses(Addresses{"10.0.0.2", "10.0.0.3"});
  queue.AddSample("10.0.0.3", Shown(3, 40));
  EXPECT_NEAR(ArrivedIn(queue, 3), 0, 1e-9);
  queue.AddSample("10.0.0.3", Shown(4, 44));
  EXPECT_NEAR(ArrivedIn(queue, 4), 4, 1e-9);
}

}  // namespace
}  // namespace gpuscaler
