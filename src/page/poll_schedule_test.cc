#include "page/poll_schedule.h"

#include <algorithm>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const absl::Time kBegin = absl::UnixEpoch() + absl::Hours(20000) + absl::Milliseconds(123);

// The number of polls of each target, the most polls at one time, and the wake-ups.
struct Polled {
  std::map<PollSchedule::Id, int> times;
  size_t max_concurrent = 0;
  int wakes = 0;
};

Polled PollFor(PollSchedule& schedule, absl::Time begin, absl::Duration how_long) {
  Polled polled;
  for (absl::Time now = std::max(begin, schedule.NextDue()); now < begin + how_long;
       now = schedule.NextDue()) {
    const std::vector<PollSchedule::Id> due = schedule.Due(now);
    for (const PollSchedule::Id id : due) {
      ++polled.times[id];
      schedule.Done(id, false);
    }
    polled.max_concurrent = std::max(polled.max_concurrent, due.size());
    ++polled.wakes;
  }
  return polled;
}

TEST(PollSchedule, NewTargetIsPolledAtOnceAndThenOncePerInterval) {
  PollSchedule schedule(absl::Seconds(1));
  EXPECT_EQ(schedule.NextDue(), absl::InfiniteFuture());
  schedule.Add(7, kBegin);
  EXPECT_THAT(schedule.Due(kBegin), ElementsAre(7));
  schedule.Done(7, false);
  const Polled polled = PollFor(schedule, kBegin, absl::Seconds(100));
  EXPECT_NEAR(polled.times.at(7), 100, 1);
}

TEST(PollSchedule, FirstIntervalIsBetweenHalfAndOneAndAHalf) {
  PollSchedule schedule(absl::Seconds(1));
  for (PollSchedule::Id id = 0; id < 100; ++id) schedule.Add(id, kBegin);
  EXPECT_EQ(schedule.Due(kBegin).size(), 100);
  EXPECT_GE(schedule.NextDue(), kBegin + absl::Milliseconds(500));
  for (PollSchedule::Id id = 0; id < 100; ++id) schedule.Done(id, false);
  EXPECT_EQ(PollFor(schedule, kBegin, absl::Milliseconds(1501)).times.size(), 100);
}

TEST(PollSchedule, TargetsAreSpreadOverTheIntervalInSlots) {
  PollSchedule schedule(absl::Seconds(1));
  for (PollSchedule::Id id = 0; id < 320; ++id) schedule.Add(id, kBegin);
  for (const PollSchedule::Id id : schedule.Due(kBegin)) schedule.Done(id, false);
  const absl::Time settled = kBegin + absl::Seconds(2);
  PollFor(schedule, kBegin, absl::Seconds(2));
  const Polled polled = PollFor(schedule, settled, absl::Seconds(10));
  EXPECT_EQ(polled.max_concurrent, 10);
  EXPECT_NEAR(polled.wakes, 320, 1);
  for (const auto& [id, times] : polled.times) EXPECT_NEAR(times, 10, 1) << id;
}

TEST(PollSchedule, BusyTargetIsNotPolledAgain) {
  PollSchedule schedule(absl::Seconds(1));
  schedule.Add(1, kBegin);
  EXPECT_THAT(schedule.Due(kBegin), ElementsAre(1));
  EXPECT_THAT(schedule.Due(kBegin + absl::Seconds(10)), IsEmpty());
  schedule.Done(1, false);
  EXPECT_THAT(schedule.Due(kBegin + absl::Seconds(12)), ElementsAre(1));
}

TEST(PollSchedule, TargetWithRepeatedTimeoutsIsPolledLessOften) {
  PollSchedule schedule(absl::Seconds(1));
  schedule.Add(1, kBegin);
  std::vector<absl::Duration> gaps;
  absl::Time now = kBegin;
  for (int i = 0; i < 8; ++i) {
    EXPECT_THAT(schedule.Due(now), ElementsAre(1));
    schedule.Done(1, true);
    // Due() set it before this timeout was reported.
    gaps.push_back(schedule.NextDue() - now);
    now = schedule.NextDue();
  }
  EXPECT_THAT(std::vector<absl::Duration>(gaps.begin() + 1, gaps.end()),
              ElementsAre(absl::Seconds(1), absl::Seconds(2), absl::Seconds(3), absl::Seconds(4),
                          absl::Seconds(5), absl::Seconds(5), absl::Seconds(5)));
  EXPECT_THAT(schedule.Due(now), ElementsAre(1));
  schedule.Done(1, false);
  now = schedule.NextDue();
  EXPECT_THAT(schedule.Due(now), ElementsAre(1));
  EXPECT_EQ(schedule.NextDue() - now, absl::Seconds(1)) << "it answers again";
}

TEST(PollSchedule, RemovedTargetIsForgotten) {
  PollSchedule schedule(absl::Seconds(1));
  schedule.Add(1, kBegin);
  schedule.Add(2, kBegin);
  schedule.Remove(1);
  schedule.Remove(1);
  EXPECT_THAT(schedule.Due(kBegin), ElementsAre(2));
  schedule.Remove(2);
  schedule.Done(2, false);
  EXPECT_EQ(schedule.NextDue(), absl::InfiniteFuture());
}

}  // namespace
}  // namespace gpuscaler
