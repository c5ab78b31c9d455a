// The growth of counters over a time window. It depends on the readings only, not on the number or
// frequency of queries.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

struct CounterLookBack {
  absl::Duration window;   // ends at the newest reading; 0: the newest two readings
  absl::Duration max_gap;  // the time between readings farther apart does not count
};

// When a counter was read. `continues` is false if it restarted since the previous reading. Its
// growth before the restart is unknown, so the time between the two readings does not count.
struct CounterInstant {
  absl::Time at;
  bool continues = true;
};

// The windows that end at successive readings. Each is found from the previous one, so all of them
// take one pass. Not thread-safe.
class CounterWindows {
 public:
  // `instants`: oldest first.
  CounterWindows(std::vector<CounterInstant> instants, const CounterLookBack& look_back);

  // Returns true if the time between this reading and the previous one counts.
  bool Counts(size_t index) const;

  // Returns the first reading of the window that ends at `last`. It is the last one at or before
  // the window's start, but not before `earliest`. Neither argument may be lower than in the
  // previous call. Returns nullopt if less than half of the window counts, or nothing.
  std::optional<size_t> FirstOf(size_t last, absl::Time earliest = absl::InfinitePast());

  // Returns how much of the time between two readings counts.
  absl::Duration Covered(size_t first, size_t last) const { return until_[last] - until_[first]; }

 private:
  const CounterLookBack look_back_;
  const std::vector<CounterInstant> instants_;
  std::vector<absl::Duration> until_;  // the counted time up to each reading
  size_t first_ = 0;                   // start of the newest window
};

struct Growth {
  double by = 0;
  absl::Duration over;  // counted time, above 0

  double PerSecond() const { return by / absl::ToDoubleSeconds(over); }
};

struct CounterPoint {
  CounterInstant instant;
  double value = 0;
};

// The growth of one counter over the windows that end at successive points, in one pass. A counter
// that is lower than before has restarted. Not thread-safe.
class CounterGrowth {
 public:
  CounterGrowth(std::span<const CounterPoint> points, const CounterLookBack& look_back);

  // Window as in CounterWindows::FirstOf().
  std::optional<Growth> EndingAt(size_t last, absl::Time earliest = absl::InfinitePast());

 private:
  CounterWindows windows_;
  std::vector<double> grown_;  // counted growth up to each point
};

}  // namespace gpuscaler
