// The longest time between two questions, as far back as is remembered.
#pragma once

#include <algorithm>
#include <utility>

#include "absl/time/time.h"

namespace gpuscaler {

// Remembered for a week at least, two at most. A busy workload is asked for every 15 s by its HPA,
// for days, before only KEDA's poll of minutes is left: who forgets that interval meanwhile lets
// the lease end at zero. What an outage of KEDA made of it shall not stand for ever either.
class LongestGap {
 public:
  // A question is asked: the longest gap, up to this one. Negative: it is the first.
  absl::Duration Ask(absl::Time now) {
    if (now - since_ >= kRemembered) {
      of_before_ = std::exchange(of_now_, -absl::InfiniteDuration());
      since_ = now;
    }
    of_now_ = std::max(of_now_, now - last_);
    last_ = now;
    return std::max(of_now_, of_before_);
  }

 private:
  static constexpr absl::Duration kRemembered = absl::Hours(7 * 24);

  absl::Time last_ = absl::InfiniteFuture();
  absl::Time since_ = absl::InfinitePast();
  absl::Duration of_now_ = -absl::InfiniteDuration();
  absl::Duration of_before_ = -absl::InfiniteDuration();
};

}  // namespace gpuscaler
