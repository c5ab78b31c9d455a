// What counters did over a while: differences between readings of them. A function of the readings
// alone: who asks, and how often, changes nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

struct CounterLookBack {
  absl::Duration window;       // ends at the newest reading; 0: the newest two
  absl::Duration longest_gap;  // readings farther apart say nothing of the time between them
};

// When counters were read. `goes_on` is false where they began anew since the reading before: how
// far they had gone by then is unknown, so the time between the two does not count.
struct CounterInstant {
  absl::Time at;
  bool goes_on = true;
};

// From one reading to another, both by their places.
struct CounterWindow {
  size_t first = 0;
  size_t last = 0;
  absl::Duration covered;  // by the times between them that count; above 0
};

// The windows that end at one reading after the other. Each is found from the one before, so that
// those of all readings take one pass.
class CounterWindows {
 public:
  // Oldest first.
  CounterWindows(std::vector<CounterInstant> instants, const CounterLookBack& look_back);

  // Whether the time between this reading and the one before counts.
  bool Counts(size_t place) const;

  // From the first reading at or before the window's start, of those not before `earliest`, to
  // `last`, which is never lower than in the call before; nor is `earliest`. Empty, not known yet:
  // less than half of the window counts, or nothing.
  std::optional<CounterWindow> EndingAt(size_t last, absl::Time earliest = absl::InfinitePast());

  // How much of the time between two readings counts.
  absl::Duration Covered(size_t first, size_t last) const { return until_[last] - until_[first]; }

 private:
  const CounterLookBack look_back_;
  const std::vector<CounterInstant> instants_;
  std::vector<absl::Duration> until_;  // what counts of the time up to each
  size_t first_ = 0;                   // of the newest window
};

struct Growth {
  double by = 0;
  absl::Duration over;  // above 0

  double PerSecond() const { return by / absl::ToDoubleSeconds(over); }
};

struct CounterPoint {
  CounterInstant instant;
  double value = 0;
};

// Of one counter, over the windows that end at one point after the other, in one pass. A counter
// that is lower than before has begun anew.
class CounterGrowth {
 public:
  CounterGrowth(std::span<const CounterPoint> points, const CounterLookBack& look_back);

  // As CounterWindows::EndingAt().
  std::optional<Growth> EndingAt(size_t last, absl::Time earliest = absl::InfinitePast());

 private:
  CounterWindows windows_;
  std::vector<double> grown_;  // up to each point, while it counted
};

}  // namespace gpuscaler
