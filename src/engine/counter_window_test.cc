#include "engine/counter_window.h"

#include <vector>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

const absl::Time kFirstReadAt = absl::FromUnixSeconds(1'767'225'600);
constexpr CounterLookBack kTenSeconds = {.window = absl::Seconds(10), .max_gap = absl::Seconds(5)};

struct Read {
  double second;
  double value;
  bool continues = true;
};

std::vector<CounterPoint> Points(const std::vector<Read>& reads) {
  std::vector<CounterPoint> points;
  for (const Read& read : reads) {
    points.push_back({.instant = {kFirstReadAt + absl::Seconds(read.second), read.continues},
                      .value = read.value});
  }
  return points;
}

// The window ends at the newest reading.
std::optional<Growth> GrowthOf(const std::vector<CounterPoint>& points,
                               const CounterLookBack& look_back) {
  if (points.empty()) return std::nullopt;
  return CounterGrowth(points, look_back).EndingAt(points.size() - 1);
}

TEST(CounterWindow, GrowsByTheDifferenceOfItsReadings) {
  const struct {
    const char* name;
    std::vector<Read> reads;
    double want_by;
    double want_seconds;
  } rows[] = {
      {"steady", {{0, 100}, {5, 150}, {10, 200}}, 100, 10},
      {"what lies before the window does not count",
       {{0, 0}, {5, 1000}, {8, 1000}, {13, 1005}, {18, 1010}},
       10,
       10},
      {"the window's start lies between readings: the one before it counts",
       {{0, 0}, {4, 40}, {8, 80}, {12, 120}, {16, 160}},
       120,
       12},
      {"nothing happened", {{0, 7}, {5, 7}, {10, 7}}, 0, 10},
      {"half a window is enough", {{5, 10}, {10, 20}}, 10, 5},
      {"begun anew: the time in which it did does not count",
       {{0, 1000}, {4, 1040}, {5, 3}, {10, 53}},
       90,
       9},
      {"begun anew, and already higher than before",
       {{0, 10}, {4, 50}, {5, 60, false}, {10, 110}},
       90,
       9},
      {"an outage does not count", {{0, 0}, {3, 30}, {9, 30}, {10, 40}, {12, 60}}, 60, 6},
  };
  for (const auto& row : rows) {
    const auto growth = GrowthOf(Points(row.reads), kTenSeconds);
    ASSERT_TRUE(growth.has_value()) << row.name;
    EXPECT_DOUBLE_EQ(growth->by, row.want_by) << row.name;
    EXPECT_EQ(growth->over, absl::Seconds(row.want_seconds)) << row.name;
  }
}

TEST(CounterWindow, IsUnknownBeforeHalfOfItIsCovered) {
  const struct {
    const char* name;
    std::vector<Read> reads;
  } rows[] = {
      {"no reading", {}},
      {"one reading", {{0, 5}}},
      {"less than half", {{0, 5}, {2, 6}, {4, 7}}},
      {"begun anew just now", {{8, 9}, {12, 1}, {14, 2}}},
      {"an outage just now", {{0, 5}, {30, 6}, {34, 7}}},
      {"twice at one instant", {{5, 5}, {5, 6}}},
  };
  for (const auto& row : rows) {
    EXPECT_FALSE(GrowthOf(Points(row.reads), kTenSeconds).has_value()) << row.name;
  }
}

TEST(CounterWindow, WindowShorterThanTheIntervalUsesTheNewestTwoReadings) {
  const std::vector<CounterPoint> points = Points({{0, 0}, {5, 10}, {10, 30}});
  for (const absl::Duration window : {absl::ZeroDuration(), absl::Seconds(1)}) {
    const auto growth = GrowthOf(points, {.window = window, .max_gap = absl::Seconds(5)});
    ASSERT_TRUE(growth.has_value()) << window;
    EXPECT_EQ(growth->by, 20) << window;
    EXPECT_EQ(growth->PerSecond(), 4) << window;
  }
}

TEST(CounterWindow, DependsOnTheReadingsInTheWindowOnly) {
  std::vector<Read> reads = {{0, 9},   {3, 1},   {30, 4},  {90, 0},
                             {100, 0}, {104, 4}, {108, 8}, {110, 10}};
  const auto all = GrowthOf(Points(reads), kTenSeconds);
  reads.erase(reads.begin(), reads.begin() + 4);
  const auto last = GrowthOf(Points(reads), kTenSeconds);
  ASSERT_TRUE(all.has_value() && last.has_value());
  EXPECT_EQ(all->by, last->by);
  EXPECT_EQ(all->over, last->over);
  EXPECT_EQ(all->PerSecond(), 1);
}

}  // namespace
}  // namespace gpuscaler
