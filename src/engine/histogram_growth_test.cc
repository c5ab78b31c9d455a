#include "engine/histogram_growth.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <random>

#include "engine/test_seconds.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr double kAbove = std::numeric_limits<double>::infinity();
constexpr CounterLookBack kFifteenSeconds = {.window = absl::Seconds(15), .max_gap = kLongestGap};

Histogram Counts(double a, double b, double all) { return {{{0.1, a}, {0.5, b}, {kAbove, all}}}; }

// Points 5 s apart. The counters restart at the indexes in `restarts`.
std::vector<HistogramPoint> PointsOf(const std::vector<Histogram>& histograms,
                                     const std::vector<size_t>& restarts = {}) {
  std::vector<HistogramPoint> points;
  for (const Histogram& histogram : histograms) {
    points.push_back(
        {.instant = {.at = Second(5 * static_cast<int>(points.size()))}, .histogram = &histogram});
  }
  for (const size_t place : restarts) points[place].instant.continues = false;
  return points;
}

TEST(HistogramGrowth, CoversTheWindowOnly) {
  const std::vector<Histogram> histograms = {Counts(0, 0, 5000), Counts(50, 50, 5050),
                                             Counts(90, 100, 5100)};
  HistogramGrowth growth(PointsOf(histograms), kFifteenSeconds);
  const Histogram* const grown = growth.EndingAt(2);
  ASSERT_NE(grown, nullptr);
  EXPECT_EQ(*grown, Counts(90, 100, 100));
}

TEST(HistogramGrowth, RestartKeepsTheOtherGrowth) {
  const std::vector<Histogram> histograms = {Counts(0, 100, 100), Counts(0, 110, 110),
                                             Counts(0, 0, 4), Counts(0, 0, 14)};
  HistogramGrowth growth(PointsOf(histograms, {2}), kFifteenSeconds);
  const Histogram* const grown = growth.EndingAt(3);
  ASSERT_NE(grown, nullptr);
  EXPECT_EQ(*grown, Counts(0, 10, 20));
}

TEST(HistogramGrowth, CountsWithOtherBoundsAreNotAdded) {
  const Histogram other{{{0.2, 1}, {kAbove, 200}}};
  const std::vector<Histogram> histograms = {Counts(1, 2, 4), Counts(1, 2, 4), other, other, other};
  HistogramGrowth growth(PointsOf(histograms), kFifteenSeconds);
  EXPECT_EQ(growth.EndingAt(3), nullptr) << "5 s of each";
  const Histogram* const grown = growth.EndingAt(4);
  ASSERT_NE(grown, nullptr) << "10 s of the new ones, and a pair that does not count";
  EXPECT_EQ(grown->Count(), 0);
}

// Returns the growth of the window that ends at `last`, added pair by pair; empty: unknown.
std::optional<Histogram> AddedUp(const std::vector<HistogramPoint>& points, size_t last,
                                 const CounterLookBack& look_back) {
  std::optional<Histogram> sum;
  absl::Duration covered;
  for (size_t i = last; i > 0; --i) {
    const CounterInstant& instant = points[i].instant;
    if (i != last && instant.at <= points[last].instant.at - look_back.window) break;
    if (!instant.continues) continue;
    covered += instant.at - points[i - 1].instant.at;
    const Histogram& older = *points[i - 1].histogram;
    const Histogram& newer = *points[i].histogram;
    if (!sum.has_value()) {
      sum = newer;
      for (auto& bucket : sum->buckets) bucket.count = 0;
    }
    if (!HaveSameBounds(*sum, newer)) return std::nullopt;
    for (size_t b = 0; b < newer.buckets.size(); ++b) {
      sum->buckets[b].count += newer.buckets[b].count - older.buckets[b].count;
    }
  }
  return covered < look_back.window / 2 ? std::nullopt : sum;
}

TEST(HistogramGrowth, MovingWindowEqualsEachWindowAlone) {
  std::mt19937 random(1);
  std::vector<Histogram> histograms;
  double low = 0;
  double all = 0;
  for (int i = 0; i < 500; ++i) {
    if (random() % 20 == 0) low = all = 0;
    low += static_cast<double>(random() % 5);
    all = std::max(low, all + static_cast<double>(random() % 9));
    const bool has_other_bounds = i % 100 < 20;
    histograms.push_back(has_other_bounds ? Histogram{{{0.2, low}, {kAbove, all}}}
                                          : Counts(low, low, all));
  }
  std::vector<HistogramPoint> points = PointsOf(histograms);
  for (size_t i = 1; i < points.size(); ++i) {
    points[i].instant.continues =
        HaveSameBounds(histograms[i - 1], histograms[i]) &&
        histograms[i].Count() >= histograms[i - 1].Count() &&
        histograms[i].buckets[0].count >= histograms[i - 1].buckets[0].count;
  }
  const CounterLookBack look_back{.window = absl::Seconds(60), .max_gap = kLongestGap};
  HistogramGrowth moving(points, look_back);
  int known = 0;
  for (size_t last = 0; last < points.size(); ++last) {
    const Histogram* const got = moving.EndingAt(last);
    const std::optional<Histogram> want = AddedUp(points, last, look_back);
    ASSERT_EQ(got != nullptr, want.has_value()) << last;
    if (got == nullptr) continue;
    ++known;
    ASSERT_EQ(*got, *want) << last;
  }
  EXPECT_GT(known, 200);
}

}  // namespace
}  // namespace gpuscaler
