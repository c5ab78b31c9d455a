// The offset of another machine's clock from ours, estimated from the times in its messages.
#pragma once

#include <algorithm>

#include "absl/time/time.h"

namespace gpuscaler {

// The message with the shortest delay sets the offset: it is at most that delay too large. A late
// message makes its readings older, never younger. An offset below kLongestDelay counts as the
// delay of messages between synchronised clocks, so that all readers date a reading alike. Not
// thread-safe.
class PeerClock {
 public:
  // Takes a message that was sent at `sent` on its clock and came at `received` on ours.
  void Received(absl::Time sent, absl::Time received) {
    const absl::Duration seen = received - sent;
    if (received_at_ == absl::InfinitePast()) {
      offset_ = seen;
    } else {
      offset_ = std::min(seen, offset_ + kMaxDrift * (received - received_at_));
    }
    offset_ = absl::Floor(offset_, absl::Microseconds(1));
    received_at_ = received;
    if (offset_ >= kLongestDelay) is_synchronised_ = false;
    if (offset_ < kLongestDelay / 2) is_synchronised_ = true;
  }

  // Returns our clock minus its clock. Messages and stores keep whole microseconds, and so does the
  // offset: a converted time stays equal when it is sent or stored again.
  absl::Duration offset() const {
    return is_synchronised_ ? std::min(offset_, absl::ZeroDuration()) : offset_;
  }

  static constexpr absl::Duration kLongestDelay = absl::Seconds(1);

  // A drift of 1e-4 is already much for two quartz clocks. With 1e-3 the offset may grow by 60 ms
  // per minute.
  static constexpr double kMaxDrift = 1e-3;

 private:
  absl::Time received_at_ = absl::InfinitePast();
  absl::Duration offset_;
  bool is_synchronised_ = true;
};

}  // namespace gpuscaler
