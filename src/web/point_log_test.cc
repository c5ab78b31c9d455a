#include "web/point_log.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_random.h"
#include "web/test_points.h"

namespace gpuscaler {
namespace {

using testing::ElementsAreArray;
using testing::IsEmpty;

std::vector<HistoryPoint> ReadSteps(const PointLog& log, int from, int to) {
  return log.Read(StepTime(from), StepTime(to));
}

TEST(PointLog, AnyPointReadsBackAsItWas) {
  ForManySeeds([](Random& random) {
    const auto number = [&](bool has_decimals) -> std::optional<double> {
      if (random.OneIn(8)) return std::nullopt;
      const double whole = random.Whole(-2'000'000, 2'000'000);
      return has_decimals ? whole / 1000 : whole;
    };
    PointLog log;
    std::vector<HistoryPoint> want;
    for (int step = 0; step < 600; ++step) {
      HistoryPoint point = NoRecordAt(step);
      if (!want.empty() && random.ThreeInFour()) {
        point = want.back();
        point.at = StepTime(step);
      } else if (random.ThreeInFour()) {
        point.code = static_cast<absl::StatusCode>(random.Whole(0, 16));
        point.value = number(true);
        point.target = number(true);
        point.replicas = number(false);
        point.starting = number(false);
        point.unreadable = number(false);
        point.terminating = number(false);
        point.active = random.Whole(0, 1);
        point.limit = number(true);
        point.capacity = number(true);
        point.demand = number(true);
        point.replaced = number(false);
        point.gpus = number(false);
      }
      want.push_back(point);
      const bool has_record = point != NoRecordAt(step);
      if (has_record) log.Append(point);
    }
    EXPECT_THAT(ReadSteps(log, 0, 599), ElementsAreArray(want));
    const int from = random.Whole(0, 599);
    const int to = random.Whole(from, 599);
    EXPECT_THAT(ReadSteps(log, from, to),
                ElementsAreArray(want.begin() + from, want.begin() + to + 1));
  });
}

TEST(PointLog, StepsWithoutRecordHaveOnlyTheirTime) {
  PointLog log;
  log.Append(PointAt(2, 10));
  log.Append(PointAt(4, 10));
  log.Append(PointAt(700, 10));  // hours later
  EXPECT_THAT(ReadSteps(log, 1, 5), ElementsAreArray({NoRecordAt(1), PointAt(2, 10), NoRecordAt(3),
                                                      PointAt(4, 10), NoRecordAt(5)}));
  EXPECT_THAT(ReadSteps(log, 699, 701),
              ElementsAreArray({NoRecordAt(699), PointAt(700, 10), NoRecordAt(701)}));
}

TEST(PointLog, TimesBetweenStepsAreRoundedInwards) {
  PointLog log;
  for (int step = 0; step < 4; ++step) log.Append(PointAt(step, step));
  EXPECT_THAT(log.Read(kFirstPoint + absl::Seconds(1), kFirstPoint + absl::Seconds(44)),
              ElementsAreArray({PointAt(1, 1), PointAt(2, 2)}));
  EXPECT_THAT(log.Read(kFirstPoint + absl::Seconds(1), kFirstPoint + absl::Seconds(14)), IsEmpty());
}

TEST(PointLog, NumbersThatNoCellHoldsAreCutOrUnknown) {
  PointLog log;
  log.Append(PointAt(0, 1e300));
  log.Append(PointAt(1, -1e300));
  log.Append(PointAt(2, std::nan("")));
  log.Append(PointAt(3, std::numeric_limits<double>::infinity()));
  const std::vector<HistoryPoint> points = ReadSteps(log, 0, 3);
  EXPECT_EQ(points[0].value, 1e15);
  EXPECT_EQ(points[1].value, -1e15);
  EXPECT_EQ(points[2].value, std::nullopt);
  EXPECT_EQ(points[3].value, 1e15);
}

TEST(PointLog, KeepsAnEmptyNumberApartFromZero) {
  PointLog log;
  std::vector<HistoryPoint> want;
  for (const std::optional<double> gpus : {std::optional<double>(0), std::optional<double>(),
                                           std::optional<double>(0), std::optional<double>(3)}) {
    want.push_back(PointAt(static_cast<int>(want.size()), 10));
    want.back().gpus = gpus;
    log.Append(want.back());
  }
  EXPECT_THAT(ReadSteps(log, 0, 3), ElementsAreArray(want));
}

TEST(PointLog, DropsWholeHours) {
  PointLog log;
  for (int step = 0; step < 500; ++step) log.Append(PointAt(step, step));
  log.DropBefore(kFirstPoint + absl::Minutes(90));
  EXPECT_EQ(log.first_at(), kFirstPoint + absl::Hours(1));
  EXPECT_EQ(log.last_at(), StepTime(499));
  EXPECT_THAT(ReadSteps(log, 239, 240), ElementsAreArray({NoRecordAt(239), PointAt(240, 240)}));
  log.DropBefore(kFirstPoint + absl::Hours(3));
  EXPECT_TRUE(log.empty());
  log.Append(PointAt(1000, 7));
  EXPECT_THAT(ReadSteps(log, 999, 1000), ElementsAreArray({NoRecordAt(999), PointAt(1000, 7)}));
}

TEST(PointLog, ConstantPointsTakeAlmostNothing) {
  PointLog log;
  for (int step = 0; step < 24 * 240; ++step) log.Append(PointAt(step, 55.5));
  EXPECT_LT(log.bytes(), 4'000u);
}

}  // namespace
}  // namespace gpuscaler
