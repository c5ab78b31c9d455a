#include "model/steady_memory.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kWindow = absl::Seconds(120);
constexpr absl::Time kAlways = absl::InfinitePast();

class SteadyMemoryTest : public testing::Test {
 protected:
  // A reading every 2 s for `duration`.
  void StayAt(absl::Duration duration, double percent) {
    for (const absl::Time end = now_ + duration; now_ < end; now_ += absl::Seconds(2)) {
      memory_.Add(now_, percent);
    }
  }

  absl::Time now_ = absl::FromUnixSeconds(1'767'225'600);
  SteadyMemory memory_;
};

TEST_F(SteadyMemoryTest, SteadyAfterAWindowWithoutChange) {
  StayAt(kWindow, 91);
  EXPECT_FALSE(memory_.WasSteadyFor(kWindow, kAlways)) << "one reading short";
  StayAt(absl::Seconds(2), 91.9);
  EXPECT_TRUE(memory_.WasSteadyFor(kWindow, kAlways));
}

TEST_F(SteadyMemoryTest, ChangeOfOnePointStartsANewRun) {
  StayAt(kWindow, 91);
  StayAt(kWindow, 92);
  EXPECT_FALSE(memory_.WasSteadyFor(kWindow, kAlways));
  StayAt(absl::Seconds(2), 92);
  EXPECT_TRUE(memory_.WasSteadyFor(kWindow, kAlways));
}

TEST_F(SteadyMemoryTest, StaysSteadyThroughHoursOfChanges) {
  StayAt(absl::Seconds(130), 80);
  for (int i = 0; i < 60; ++i) {
    StayAt(absl::Minutes(1), 84);
    StayAt(absl::Minutes(1), 80);
  }
  EXPECT_TRUE(memory_.WasSteadyFor(kWindow, kAlways));
  EXPECT_FALSE(memory_.WasSteadyFor(absl::Minutes(3), kAlways));
}

TEST_F(SteadyMemoryTest, NotEvaluatedUntilHighForTheWindow) {
  StayAt(absl::Minutes(10), 40);
  EXPECT_FALSE(memory_.IsTooNew(kWindow, kAlways)) << "low memory is not evaluated";
  StayAt(kWindow, 91);
  EXPECT_TRUE(memory_.IsTooNew(kWindow, kAlways));
  EXPECT_TRUE(memory_.IsTooNew(kWindow, now_));
  StayAt(absl::Seconds(2), 80);
  EXPECT_FALSE(memory_.IsTooNew(kWindow, kAlways)) << "it moves";
}

TEST_F(SteadyMemoryTest, FallToFiftyPercentResetsIt) {
  StayAt(absl::Minutes(10), 80);
  StayAt(absl::Seconds(2), 50);
  EXPECT_FALSE(memory_.WasSteadyFor(kWindow, kAlways));
  StayAt(absl::Seconds(10), 80);
  EXPECT_FALSE(memory_.WasSteadyFor(kWindow, kAlways));
}

TEST_F(SteadyMemoryTest, LowMemoryIsNeverSteady) {
  StayAt(absl::Minutes(10), 50);
  EXPECT_FALSE(memory_.WasSteadyFor(kWindow, kAlways));
}

TEST_F(SteadyMemoryTest, StartDoesNotCount) {
  const absl::Time began = now_;
  StayAt(absl::Seconds(130), 91);
  EXPECT_FALSE(memory_.WasSteadyFor(kWindow, began + absl::Seconds(60)));
  StayAt(absl::Seconds(60), 91);
  EXPECT_TRUE(memory_.WasSteadyFor(kWindow, began + absl::Seconds(60)));
}

TEST_F(SteadyMemoryTest, LongRunInTheStartDoesNotHideALaterOne) {
  const absl::Time began = now_;
  StayAt(absl::Seconds(300), 70);
  StayAt(absl::Seconds(130), 91);
  EXPECT_TRUE(memory_.WasSteadyFor(kWindow, began + absl::Seconds(300)));
}

// The longest run began during the start. Its part after the start is shorter than a later run's.
TEST_F(SteadyMemoryTest, ChangeAfterASteadyRunDoesNotUndoIt) {
  const absl::Time started_at = now_ + absl::Seconds(300);
  StayAt(absl::Seconds(310), 86);
  StayAt(absl::Seconds(190), 90);
  ASSERT_TRUE(memory_.WasSteadyFor(kWindow, started_at));
  StayAt(absl::Seconds(10), 91.5);
  EXPECT_TRUE(memory_.WasSteadyFor(kWindow, started_at));
}

}  // namespace
}  // namespace gpuscaler
