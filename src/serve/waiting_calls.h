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
  // for the last time, when as many wait, or hold as much with the `bytes` of each, as memory is
  // kept for, or after Close().
  void Add(absl::Time deadline, size_t bytes, Attempt attempt);

  void Retry(absl::Time now);

  size_t size() const;

  // InfiniteFuture when nobody waits.
  absl::Time NextDeadline() const;

  // Everybody's last chance, now and from now on.
  void Close();

 private:
  struct Call {
    absl::Time deadline;
    size_t bytes;
    Attempt attempt;
  };
  static constexpr size_t kMostCalls = 10'000;
  static constexpr size_t kMostBytes = size_t{64} << 20;

  mutable Mutex mutex_;
  std::vector<Call> calls_ ABSL_GUARDED_BY(mutex_);
  // Of all that wait, those a Retry() has in hand among them.
  size_t size_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace gpuscaler
