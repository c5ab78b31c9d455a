// Threads that call a function every interval until they are stopped.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace gpuscaler {

// Ticks at once, then every `interval` of real time. A tick that takes longer delays the next one,
// and missed ticks are skipped. Thread-safe.
class PeriodicThread {
 public:
  // `name` is what `top -H` shows: 15 characters at most.
  PeriodicThread(const std::string& name, absl::Duration interval, std::function<void()> tick);
  ~PeriodicThread();  // stops; waits for a running tick, however long it takes
  PeriodicThread(const PeriodicThread&) = delete;
  PeriodicThread& operator=(const PeriodicThread&) = delete;

  // Ticks now instead of at the end of the interval.
  void Wake() { WakeIn(absl::ZeroDuration()); }

  // Ticks after `delay`, or at the end of the interval if that is sooner.
  void WakeIn(absl::Duration delay);

  // Prevents further ticks. Returns false if one still runs after `timeout`, as in a hung driver
  // call. The destructor would then block for ever, and only the end of the process helps.
  bool Stop(absl::Duration timeout);

  const std::string& name() const { return name_; }

 private:
  void Run();

  const SteadyClock clock_;  // real time, also if the clock of the samples runs faster
  const std::string name_;
  const absl::Duration interval_;
  const std::function<void()> tick_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time wake_at_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// Stops all threads at once, then waits at most `timeout` for all of them. Returns the names of
// those that still run. A null is no thread.
std::vector<std::string> StopAll(const std::vector<PeriodicThread*>& threads,
                                 absl::Duration timeout);

}  // namespace gpuscaler
