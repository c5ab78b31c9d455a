#include "fleet/peer_clock.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

const absl::Time kOurs = absl::FromUnixSeconds(1'767'225'600);

TEST(PeerClock, QuickestMessageSetsTheOffset) {
  PeerClock clock;
  const absl::Time theirs = kOurs - absl::Hours(1);
  clock.Received(theirs, kOurs + absl::Milliseconds(50));
  EXPECT_EQ(clock.offset(), absl::Hours(1) + absl::Milliseconds(50));
  clock.Received(theirs + absl::Seconds(1), kOurs + absl::Seconds(1) + absl::Milliseconds(2));
  EXPECT_EQ(clock.offset(), absl::Hours(1) + absl::Milliseconds(2));
}

TEST(PeerClock, LateMessageDoesNotMoveTheOffset) {
  PeerClock clock;
  clock.Received(kOurs, kOurs);
  clock.Received(kOurs + absl::Seconds(1), kOurs + absl::Seconds(11));
  EXPECT_LT(clock.offset(), absl::Milliseconds(20)) << "the message was delayed by 10 s";
}

TEST(PeerClock, ClocksMayDrift) {
  PeerClock clock;
  absl::Time theirs = kOurs;
  for (int second = 0; second <= 86400; ++second) {
    clock.Received(theirs, kOurs + absl::Seconds(second));
    theirs += absl::Microseconds(999'900);  // slow by 1e-4
  }
  EXPECT_GT(clock.offset(), absl::Seconds(8.5)) << "after a day";
}

TEST(PeerClock, SynchronisedClocksHaveNoOffsetHoweverLateMessagesAre) {
  PeerClock clock;
  clock.Received(kOurs, kOurs + absl::Milliseconds(700));
  EXPECT_EQ(clock.offset(), absl::ZeroDuration());
  clock.Received(kOurs + absl::Seconds(60), kOurs + absl::Seconds(70));
  EXPECT_EQ(clock.offset(), absl::ZeroDuration());
}

TEST(PeerClock, ClockThatIsAheadHasAnOffsetSoThatNoReadingIsInTheFuture) {
  PeerClock clock;
  clock.Received(kOurs + absl::Milliseconds(30), kOurs);
  EXPECT_EQ(clock.offset(), -absl::Milliseconds(30));
}

// Times that jump by a second, back and forth, would be dropped as repetitions.
TEST(PeerClock, DifferenceNearTheLongestDelayKeepsOneOffset) {
  PeerClock clock;
  const auto receive = [&clock](int second, int delay_ms) {
    clock.Received(kOurs + absl::Seconds(second),
                   kOurs + absl::Seconds(second) + absl::Milliseconds(delay_ms));
    return clock.offset();
  };
  EXPECT_EQ(receive(0, 999), absl::ZeroDuration());
  EXPECT_EQ(receive(10, 1005), absl::Milliseconds(1005));
  EXPECT_EQ(receive(11, 998), absl::Milliseconds(998));
  EXPECT_EQ(receive(12, 400), absl::ZeroDuration());
  EXPECT_EQ(receive(13, 900), absl::ZeroDuration());
}

TEST(PeerClock, OffsetIsOfWholeMicroseconds) {
  PeerClock clock;
  clock.Received(kOurs, kOurs + absl::Nanoseconds(2'000'000'123));
  EXPECT_EQ(clock.offset(), absl::Seconds(2));
  clock.Received(kOurs + absl::Seconds(1), kOurs + absl::Seconds(9) + absl::Nanoseconds(7));
  EXPECT_EQ(clock.offset() % absl::Microseconds(1), absl::ZeroDuration()) << clock.offset();
}

}  // namespace
}  // namespace gpuscaler
