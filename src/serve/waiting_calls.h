// Calls that wait for a snapshot, without a thread of their own.
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
  // Answers the call and says so; at its `last` chance it must. Never called again after that.
  using Attempt = std::function<bool(bool last)>;

  // Tried at each Retry() until it answers, the last time when `deadline` has passed. At once, and
  // for the last time, after Close(), or if the peer's calls would be more than half of the number
  // or bytes that other peers leave.
  void Add(absl::Time deadline, const std::string& peer, size_t bytes, Attempt attempt);

  void Retry(absl::Time now);

  size_t size() const;

  // InfiniteFuture when nobody waits.
  absl::Time NextDeadline() const;

  // Everybody's last chance, now and from now on.
  void Close();

 private:
  struct Call {
    absl::Time deadline;
    std::string peer;
    size_t bytes;
    Attempt attempt;
  };
  // Calls that wait, those that a Retry() has in hand among them.
  struct Share {
    size_t calls = 0;
    size_t bytes = 0;
  };
  static constexpr size_t kMostCalls = 20'000;
  static constexpr size_t kMostBytes = size_t{64} << 20;

  bool HasRoom(const Share& share, size_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::vector<Call> calls_ ABSL_GUARDED_BY(mutex_);
  Share all_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Share> shares_ ABSL_GUARDED_BY(mutex_);  // by peer
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace gpuscaler
