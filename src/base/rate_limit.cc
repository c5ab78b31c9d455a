#include "base/rate_limit.h"

#include <utility>

namespace gpuscaler {

RateLimit::RateLimit(const Clock& clock, int per_period, absl::Duration period)
    : clock_(clock), per_period_(per_period), period_(period) {}

std::optional<int64_t> RateLimit::Pass() {
  MutexLock lock(mutex_);
  const absl::Time now = clock_.Now();
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

}  // namespace gpuscaler
