#include "base/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace gpuscaler {
namespace {

int64_t MonotonicNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

SteadyClock::SteadyClock(double speed)
    : started_at_(absl::Now()), started_ns_(MonotonicNanoseconds()), speed_(speed) {}

absl::Time SteadyClock::Now() const {
  return started_at_ + absl::Nanoseconds(MonotonicNanoseconds() - started_ns_) * speed_;
}

}  // namespace gpuscaler
