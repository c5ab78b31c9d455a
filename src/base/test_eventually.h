// A wait of tests for another thread.
#pragma once

#include <thread>

#include "absl/time/time.h"
#include "base/clock.h"

namespace gpuscaler {

// Returns true as soon as `condition` returns true, or false after 30 s of real time.
template <typename Condition>
bool Eventually(Condition condition) {
  const SteadyClock real;
  const absl::Time deadline = real.Now() + absl::Seconds(30);
  while (!condition()) {
    if (real.Now() >= deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace gpuscaler
