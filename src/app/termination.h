// SIGTERM and SIGINT, waited for instead of handled.
#pragma once

#include "absl/time/time.h"

namespace gpuscaler {

// Made before any other thread: every thread started later leaves the two signals to Wait().
class TerminationSignals {
 public:
  TerminationSignals();

  // Blocks until one of them comes; its number.
  int Wait() const;

  // The same, for `timeout` of real time at most; 0 when none came.
  int WaitFor(absl::Duration timeout) const;
};

}  // namespace gpuscaler
