// How long a GPU's memory usage has been steady: the sign of preallocated VRAM.
#pragma once

#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// A time with memory usage above 50 % that changed by less than 1 point.
struct SteadyRun {
  absl::Time from = absl::InfinitePast();  // InfinitePast: none
  absl::Time until = absl::InfinitePast();

  absl::Duration Length() const { return until - from; }
  // Returns the length of its part after `at`.
  absl::Duration After(absl::Time at) const;

  friend bool operator==(const SteadyRun&, const SteadyRun&) = default;
};

// The memory usage of one holder since it was last at 50 % or below. Not thread-safe.
struct SteadyMemory {
  absl::Time high_since = absl::InfinitePast();  // InfinitePast: it is at 50 % or below
  SteadyRun current;
  // Past runs that are longer than all later ones and the current one: oldest and longest first.
  // The longest of all runs that ended after any given instant is among them.
  std::vector<SteadyRun> past;
  double lowest_percent = 0;  // within the current run
  double highest_percent = 0;

  // Adds a reading. Failed readings are left out, so that runs span them.
  void Add(absl::Time at, double used_percent);

  // Extends the current run: readings up to `until` equal the newest one.
  void ExtendTo(absl::Time until);

  // Returns true if usage is steady for `window`, or was once and has not fallen to 50 % since. The
  // time before `started_at` does not count.
  bool WasSteadyFor(absl::Duration window, absl::Time started_at) const;

  // Returns when memory had been steady for `window` for the first time that is remembered.
  // InfiniteFuture: never.
  absl::Time SteadyAt(absl::Duration window, absl::Time started_at) const;

  // Returns true if usage has not been above 50 % for `window` yet, so it is too early to evaluate.
  // The time before `started_at` does not count.
  bool IsTooNew(absl::Duration window, absl::Time started_at) const;

  friend bool operator==(const SteadyMemory&, const SteadyMemory&) = default;
};

}  // namespace gpuscaler
