// SIGTERM and SIGINT, waited for instead of handled.
#pragma once

namespace gpuscaler {

// Made before any other thread: every thread started later leaves the two signals to Wait().
class TerminationSignals {
 public:
  TerminationSignals();

  // Blocks until one of them comes; its number.
  int Wait() const;
};

}  // namespace gpuscaler
