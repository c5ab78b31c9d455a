// A thread that does one thing every interval, and ends when told.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace gpuscaler {

// Ticks at once, then every `interval` of real time. A tick that takes longer delays the next one;
// missed ticks are not made up for. Thread-safe.
class PeriodicThread {
 public:
  // `name` is what `top -H` shows: 15 characters at most.
  PeriodicThread(const std::string& name, absl::Duration interval, std::function<void()> tick);
  ~PeriodicThread();  // stops; waits for a running tick, however long it takes
  PeriodicThread(const PeriodicThread&) = delete;
  PeriodicThread& operator=(const PeriodicThread&) = delete;

  // Ticks now instead of at the end of the interval.
  void Wake() { WakeIn(absl::ZeroDuration()); }

  // Ticks then, if the interval has not ended before.
  void WakeIn(absl::Duration delay);

  // No further tick. False when one is still running after `patience` (a hung driver call): the
  // destructor would then wait for ever, and only the end of the process helps.
  bool Stop(absl::Duration timeout);

 private:
  void Run();

  const SteadyClock clock_;  // real time, whatever the demo does to the clock of the samples
  const absl::Duration interval_;
  const std::function<void()> tick_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time wake_at_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace gpuscaler
