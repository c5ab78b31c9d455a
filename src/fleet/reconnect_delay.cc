#include "fleet/reconnect_delay.h"

#include <algorithm>
#include <cmath>

#include "base/jitter.h"

namespace gpuscaler {

absl::Duration ReconnectDelay(int failures, double random) {
  constexpr double kLongestSeconds = 10;
  constexpr double kMaxJitter =
      0.5;  // also at the longest delay, so that agents do not reconnect at one instant
  const double seconds = std::exp2(std::clamp(failures, 1, 10) - 1);
  return absl::Seconds(std::min(seconds, kLongestSeconds / (1 + kMaxJitter)) *
                       (1 + kMaxJitter * random));
}

absl::Duration ReconnectDelay(int failures) { return ReconnectDelay(failures, Jitter(0, 1)); }

}  // namespace gpuscaler
