// When a stream repeats `true` although nothing changed: KEDA may have missed it, or may have been
// unable to act on it.
#pragma once

#include <array>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace gpuscaler {

// Repeats 1, 4 and 15 s after the start, then every 60 s, each times `jitter`. Without jitter the
// same few streams would use up the budget of each second. Not thread-safe.
class RepeatSchedule {
 public:
  explicit RepeatSchedule(double jitter) : jitter_(jitter) {}

  // Has no effect while the schedule runs.
  void Start(absl::Time now);
  void Stop() { next_ = absl::InfiniteFuture(); }

  // Returns InfiniteFuture while it is stopped.
  absl::Time next() const { return next_; }

  // Returns true once for each repeat that is due; several missed ones count as one.
  bool TakeDue(absl::Time now);

 private:
  const double jitter_;
  absl::Time started_;
  size_t taken_ = 0;
  absl::Time next_ = absl::InfiniteFuture();
};

// At most 5 repeats in any second, for all streams of the server. Each `true` costs KEDA an API
// call, and its client is limited to 20 per second. Thread-safe.
class RepeatBudget {
 public:
  // Returns false if there must be no repeat now. It is skipped.
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
