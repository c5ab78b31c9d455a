#include "serve/repeat_schedule.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;

const absl::Time kScheduleStart = absl::FromUnixSeconds(1'767'225'600);

// Calls TakeDue() every `step`. Returns the seconds after kScheduleStart at which it returns true.
std::vector<double> DueSeconds(RepeatSchedule& schedule, absl::Duration step, absl::Duration end) {
  std::vector<double> due;
  for (absl::Duration at; at <= end; at += step) {
    if (schedule.TakeDue(kScheduleStart + at)) due.push_back(absl::ToDoubleSeconds(at));
  }
  return due;
}

TEST(RepeatSchedule, RepeatsSoonAndThenEachMinute) {
  RepeatSchedule schedule(1.0);
  schedule.Start(kScheduleStart);
  EXPECT_THAT(DueSeconds(schedule, absl::Milliseconds(500), absl::Seconds(140)),
              ElementsAre(1, 4, 15, 75, 135));
}

TEST(RepeatSchedule, EveryRepeatIsJittered) {
  RepeatSchedule schedule(0.8);
  schedule.Start(kScheduleStart);
  EXPECT_THAT(DueSeconds(schedule, absl::Milliseconds(100), absl::Seconds(120)),
              ElementsAre(0.8, 3.2, 12, 60, 108));
}

TEST(RepeatSchedule, MissedRepeatsCountAsOne) {
  RepeatSchedule schedule(1.0);
  schedule.Start(kScheduleStart);
  EXPECT_THAT(DueSeconds(schedule, absl::Seconds(10), absl::Seconds(80)), ElementsAre(10, 20, 80));
}

TEST(RepeatSchedule, StartAgainWhileItRunsChangesNothing) {
  RepeatSchedule schedule(1.0);
  schedule.Start(kScheduleStart);
  ASSERT_TRUE(schedule.TakeDue(kScheduleStart + absl::Seconds(1)));
  schedule.Start(kScheduleStart + absl::Seconds(2));
  EXPECT_FALSE(schedule.TakeDue(kScheduleStart + absl::Seconds(3)));
  EXPECT_TRUE(schedule.TakeDue(kScheduleStart + absl::Seconds(4)));
}

TEST(RepeatSchedule, StopEndsRepeatsAndStartBeginsAnew) {
  RepeatSchedule schedule(1.0);
  EXPECT_FALSE(schedule.TakeDue(kScheduleStart));
  schedule.Start(kScheduleStart);
  schedule.Stop();
  EXPECT_FALSE(schedule.TakeDue(kScheduleStart + absl::Hours(1)));
  schedule.Start(kScheduleStart + absl::Hours(2));
  EXPECT_FALSE(schedule.TakeDue(kScheduleStart + absl::Hours(2)));
  EXPECT_TRUE(schedule.TakeDue(kScheduleStart + absl::Hours(2) + absl::Seconds(1)));
}

TEST(RepeatBudget, FiveInAnySecond) {
  RepeatBudget budget;
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(budget.Take(kScheduleStart + absl::Milliseconds(100) * i)) << i;
  EXPECT_FALSE(budget.Take(kScheduleStart + absl::Milliseconds(500)));
  EXPECT_FALSE(budget.Take(kScheduleStart + absl::Milliseconds(999)));
  EXPECT_TRUE(budget.Take(kScheduleStart + absl::Milliseconds(1000)));
  EXPECT_FALSE(budget.Take(kScheduleStart + absl::Milliseconds(1099)))
      << "refused ones are not made up";
  EXPECT_TRUE(budget.Take(kScheduleStart + absl::Milliseconds(1100)));
}

}  // namespace
}  // namespace gpuscaler
