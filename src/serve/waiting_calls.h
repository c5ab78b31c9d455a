// Calls that wait for a snapshot without holding a thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace gpuscaler {

// Thread-safe.
class WaitingCalls {
 public:
  // Returns true if it answered the call. If `last`, it must answer. Never called again after that.
  using Attempt = std::function<bool(bool last)>;

  // Calls `attempt` until it answers, the last time when `deadline` has passed.
  // Makes the last attempt at once after Close(), or if the number or the bytes of the peer's
  // waiting calls would exceed half of what the other peers leave.
  void Add(absl::Time deadline, const std::string& peer, size_t bytes, Attempt attempt);

  // Tries the calls that are due, and kTriedAtOnce others: in turn, because an attempt may look at
  // many nodes, and the caller's other work waits.
  void Retry(absl::Time now);
  static constexpr size_t kTriedAtOnce = 500;

  size_t size() const;

  // Returns InfiniteFuture if no call waits.
  absl::Time NextDeadline() const;

  // Makes the last attempt for all calls, also for those added later.
  void Close();

 private:
  struct Call {
    absl::Time deadline;
    std::string peer;
    size_t bytes;
    Attempt attempt;
  };
  // Waiting calls, including those that a running Retry() has taken out of calls_.
  struct Usage {
    size_t calls = 0;
    size_t bytes = 0;
  };
  static constexpr size_t kMaxCalls = 20'000;
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  bool HasRoom(const Usage& usage, size_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::vector<Call> calls_ ABSL_GUARDED_BY(mutex_);
  Usage all_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Usage> per_peer_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace gpuscaler
