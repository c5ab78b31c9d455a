#include "fleet/reading_quota.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {

// Of 144 GPUs, read every 50 ms, the shortest --poll-interval, histories keep 460 KiB a second
// where something that stood moves in each, and 90 else; of 400 pods, of which one becomes ready or
// not every second, 256. Of all that is allowed 15 minutes take 0.4 GiB.
bool ReadingQuota::Take(absl::Time taken_at, const ReadingWeight& weight) {
  constexpr double kASecond = 512 << 10;
  constexpr double kAtOnce = 16 * kASecond;
  if (taken_at <= at_) {
    follows_ = false;  // told again: nobody keeps it, but what it says stands for the next one
    return true;
  }
  left_bytes_ = std::min(left_bytes_ + kASecond * absl::ToDoubleSeconds(taken_at - at_), kAtOnce);
  at_ = taken_at;
  left_bytes_ -= static_cast<double>(std::exchange(follows_, true) ? weight.behind : weight.alone);
  return left_bytes_ >= 0;
}

}  // namespace gpuscaler
