#include "app/termination.h"

#include <algorithm>
#include <csignal>

namespace gpuscaler {
namespace {

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

TerminationSignals::TerminationSignals() {
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

int TerminationSignals::Wait() const {
  const sigset_t signals = Signals();
  int signal = 0;
  while (sigwait(&signals, &signal) != 0) {
  }
  return signal;
}

int TerminationSignals::WaitFor(absl::Duration timeout) const {
  const sigset_t signals = Signals();
  const timespec limit = absl::ToTimespec(std::max(timeout, absl::ZeroDuration()));
  return std::max(sigtimedwait(&signals, nullptr, &limit), 0);
}

}  // namespace gpuscaler
