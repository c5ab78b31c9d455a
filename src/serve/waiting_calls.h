// Calls that wait for a snapshot, without a thread of their own.
#pragma once

#include <functional>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace gpuscaler {

// Thread-safe.
class WaitingCalls {
 public:
  // Answers the call and says so; at its `last` chance it must. Never called again after that.
  using Attempt = std::function<bool(bool last)>;

  // Tried at each Retry() until it answers, the last time when `deadline` has passed. At once, and
  // for the last time, when as many wait as memory is kept for, or after Close().
  void Add(absl::Time deadline, Attempt attempt);

  void Retry(absl::Time now);

  // InfiniteFuture when nobody waits.
  absl::Time NextDeadline() const;

  // Everybody's last chance, now and from now on.
  void Close();

 private:
  struct Call {
    absl::Time deadline;
    Attempt attempt;
  };
  static constexpr size_t kMostCalls = 10'000;

  mutable Mutex mutex_;
  std::vector<Call> calls_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace gpuscaler
