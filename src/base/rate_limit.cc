#include "base/rate_limit.h"

#include <utility>

namespace gpuscaler {

std::optional<int64_t> FixedWindowLimit::Pass(absl::Time now) {
  if (now - period_began_ >= period_) {
    period_began_ = now;
    passed_ = 0;
  }
  if (passed_ == per_period_) {
    ++dropped_;
    return std::nullopt;
  }
  ++passed_;
  return std::exchange(dropped_, 0);
}

RateLimit::RateLimit(const Clock& clock, int per_period, absl::Duration period)
    : clock_(clock), passes_(per_period, period) {}

std::optional<int64_t> RateLimit::Pass() {
  MutexLock lock(mutex_);
  return passes_.Pass(clock_.Now());
}

}  // namespace gpuscaler
