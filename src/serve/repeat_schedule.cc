#include "serve/repeat_schedule.h"

namespace gpuscaler {
namespace {

constexpr std::array kFirst = {absl::Seconds(1), absl::Seconds(4), absl::Seconds(15)};
constexpr absl::Duration kThenEvery = absl::Seconds(60);

}  // namespace

void RepeatSchedule::Start(absl::Time now) {
  if (next_ != absl::InfiniteFuture()) return;
  started_ = now;
  taken_ = 0;
  next_ = now + kFirst[0] * jitter_;
}

bool RepeatSchedule::TakeDue(absl::Time now) {
  if (now < next_) return false;
  while (taken_ < kFirst.size() && started_ + kFirst[taken_] * jitter_ <= now) ++taken_;
  next_ = taken_ < kFirst.size() ? started_ + kFirst[taken_] * jitter_ : now + kThenEvery * jitter_;
  return true;
}

bool RepeatBudget::Take(absl::Time now) {
  MutexLock lock(mutex_);
  if (now - last_[oldest_] < absl::Seconds(1)) return false;
  last_[oldest_] = now;
  oldest_ = (oldest_ + 1) % kPerSecond;
  return true;
}

}  // namespace gpuscaler
