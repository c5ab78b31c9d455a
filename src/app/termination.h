// SIGTERM and SIGINT, waited for instead of handled.
#pragma once

#include <csignal>
#include <initializer_list>

#include "absl/time/time.h"

namespace gpuscaler {

// Made before any other thread: every thread started later leaves the signals to Wait().
class TerminationSignals {
 public:
  // Wait() returns `others` too.
  explicit TerminationSignals(std::initializer_list<int> others = {});

  // Blocks until one of them comes; its number.
  int Wait() const;

  // The same, for `timeout` of real time at most; 0 when none came.
  int WaitFor(absl::Duration timeout) const;

 private:
  sigset_t signals_;
};

}  // namespace gpuscaler
