// A clock that changes only when a test advances it. Thread-safe.
#pragma once

#include <atomic>

#include "base/clock.h"

namespace gpuscaler {

class FakeClock : public Clock {
 public:
  absl::Time Now() const override { return absl::FromUnixNanos(now_ns_.load()); }
  void Advance(absl::Duration by) { now_ns_ += absl::ToInt64Nanoseconds(by); }

 private:
  // 2026-01-01T00:00:00Z: a date that prints well.
  std::atomic<int64_t> now_ns_{1'767'225'600'000'000'000};
};

}  // namespace gpuscaler
