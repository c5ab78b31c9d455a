// How far another machine's clock is from ours, by the messages that it dates.
#pragma once

#include <algorithm>

#include "absl/time/time.h"

namespace gpuscaler {

// The message that was quickest on its way tells: an offset is at most that much too large, and a
// message that was late makes what it tells older, not younger. Not thread-safe.
class PeerClock {
 public:
  // It was sent at `sent` of its clock, and came at `received` of ours.
  void Received(absl::Time sent, absl::Time received) {
    const absl::Duration seen = received - sent;
    if (received_at_ == absl::InfinitePast()) {
      offset_ = seen;
    } else {
      offset_ = std::min(seen, offset_ + kMostDrift * (received - received_at_));
    }
    offset_ = absl::Floor(offset_, absl::Microseconds(1));
    received_at_ = received;
  }

  // What its clock lacks to ours, in whole microseconds as times are sent: what adds it to the same
  // time twice gets an equal one, wherever that is kept.
  absl::Duration offset() const { return offset_; }

  // Of two quartz clocks 1e-4 would be much; on the way of a minute 60 ms are forgiven.
  static constexpr double kMostDrift = 1e-3;

 private:
  absl::Time received_at_ = absl::InfinitePast();
  absl::Duration offset_;
};

}  // namespace gpuscaler
