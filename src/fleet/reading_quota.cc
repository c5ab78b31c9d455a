#include "fleet/reading_quota.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {

// Histories of 144 GPUs at the shortest --poll-interval, 50 ms, keep up to 570 KiB/s if a steady
// value changes in each reading, and up to 125 KiB/s otherwise. 400 pods, with one change of
// readiness per second, keep 256 KiB/s. The full quota of 15 minutes is 0.55 GiB.
bool ReadingQuota::Take(absl::Time taken_at, const ReadingWeight& weight) {
  constexpr double kBytesPerSecond = 640 << 10;
  constexpr double kBurstBytes = 16 * kBytesPerSecond;
  if (taken_at <= at_) {
    follows_ = false;  // a repetition: not kept, but the base of the next reading
    return true;
  }
  left_bytes_ =
      std::min(left_bytes_ + kBytesPerSecond * absl::ToDoubleSeconds(taken_at - at_), kBurstBytes);
  at_ = taken_at;
  left_bytes_ -= static_cast<double>(std::exchange(follows_, true) ? weight.after_previous
                                                                   : weight.standalone);
  return left_bytes_ >= 0;
}

}  // namespace gpuscaler
