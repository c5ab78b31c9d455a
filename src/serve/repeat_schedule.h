// When a stream says `true` again although nothing changed: KEDA may have missed it, or may have
// been unable to act on it.
#pragma once

#include <array>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace gpuscaler {

// 1, 4 and 15 s after the start, then every 60 s, each times `jitter`: else the same few streams
// would take the budget of every second. Not thread-safe.
class RepeatSchedule {
 public:
  explicit RepeatSchedule(double jitter) : jitter_(jitter) {}

  // Does nothing while it runs.
  void Start(absl::Time now);
  void Stop() { next_ = absl::InfiniteFuture(); }

  // InfiniteFuture while it is stopped.
  absl::Time next() const { return next_; }

  // True once for each repeat whose time has come; several missed ones count as one.
  bool TakeDue(absl::Time now);

 private:
  const double jitter_;
  absl::Time started_;
  size_t taken_ = 0;
  absl::Time next_ = absl::InfiniteFuture();
};

// At most 5 repeats in any second, for all streams of the server: each `true` is an API call of
// KEDA's, whose client is held to 20 a second (DESIGN 3). Thread-safe.
class RepeatBudget {
 public:
  // False: no repeat now. It is not made up for.
  bool Take(absl::Time now);

 private:
  static constexpr size_t kPerSecond = 5;

  Mutex mutex_;
  std::array<absl::Time, kPerSecond> last_ ABSL_GUARDED_BY(mutex_) = {
      absl::InfinitePast(), absl::InfinitePast(), absl::InfinitePast(), absl::InfinitePast(),
      absl::InfinitePast()};
  size_t oldest_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace gpuscaler
