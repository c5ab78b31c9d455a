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

TEST(PeerClock, OffsetIsOfWholeMicroseconds) {
  PeerClock clock;
  clock.Received(kOurs, kOurs + absl::Nanoseconds(2'000'123));
  EXPECT_EQ(clock.offset(), absl::Milliseconds(2));
  clock.Received(kOurs + absl::Seconds(1), kOurs + absl::Seconds(9) + absl::Nanoseconds(7));
  EXPECT_EQ(clock.offset() % absl::Microseconds(1), absl::ZeroDuration()) << clock.offset();
}

}  // namespace
}  // namespace gpuscaler
