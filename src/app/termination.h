// Waits for SIGTERM and SIGINT instead of handling them.
#pragma once

#include <csignal>
#include <initializer_list>

#include "absl/time/time.h"

namespace gpuscaler {

// Must be created before any other thread: threads started later inherit the blocked signals.
class TerminationSignals {
 public:
  // Wait() returns `others` as well.
  explicit TerminationSignals(std::initializer_list<int> others = {});

  // Blocks until a signal arrives and returns its number.
  int Wait() const;

  // Like Wait(), but returns 0 if none arrives within `timeout` of real time.
  int WaitFor(absl::Duration timeout) const;

  // Returns a new descriptor for poll(2), readable when a signal has arrived. WaitFor() then
  // returns it. The caller closes the descriptor.
  int OpenDescriptor() const;

 private:
  sigset_t signals_;
};

}  // namespace gpuscaler
