#include "app/termination.h"

#include <sys/signalfd.h>

#include <algorithm>

namespace gpuscaler {

TerminationSignals::TerminationSignals(std::initializer_list<int> others) {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGINT);
  for (const int other : others) sigaddset(&signals_, other);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

int TerminationSignals::Wait() const {
  int signal = 0;
  while (sigwait(&signals_, &signal) != 0) {
  }
  return signal;
}

int TerminationSignals::WaitFor(absl::Duration timeout) const {
  const timespec limit = absl::ToTimespec(std::max(timeout, absl::ZeroDuration()));
  return std::max(sigtimedwait(&signals_, nullptr, &limit), 0);
}

int TerminationSignals::OpenDescriptor() const { return signalfd(-1, &signals_, SFD_CLOEXEC); }

}  // namespace gpuscaler
