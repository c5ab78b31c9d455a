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

// Readings through which the counters went on: their growth is the last one's value less the
// first one's.
struct CounterRun {
  size_t first;
  size_t last;
};

struct CounterWindow {
  std::vector<CounterRun> runs;  // newest first
  absl::Duration covered;        // by all of them
};

// From the newest reading back to the first at or before the window's start. Empty, not known yet:
// the runs cover less than half of the window, or there is none.
std::optional<CounterWindow> WindowOf(std::span<const CounterInstant> instants,
                                      const CounterLookBack& look_back);

struct Growth {
  double by = 0;
  absl::Duration over;  // above 0

  double PerSecond() const { return by / absl::ToDoubleSeconds(over); }
};

struct CounterPoint {
  CounterInstant instant;
  double value = 0;
};

// Of one counter; one that is lower than before has begun anew. Empty: not known yet.
std::optional<Growth> GrowthOf(std::span<const CounterPoint> points,
                               const CounterLookBack& look_back);

}  // namespace gpuscaler
