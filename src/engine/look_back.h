// Finds the readings that a query looks back on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ranges>

#include "absl/time/time.h"

namespace gpuscaler {

// Returns the index of the reading before the first one at or after `since`, or 0: that reading was
// current at `since`, and counters grew from it. `at` returns a reading's time; oldest first.
template <typename Readings, typename At>
size_t FirstOfWindow(const Readings& readings, absl::Time since, At at) {
  const auto found = std::ranges::lower_bound(readings, since, {}, at);
  return found == readings.begin() ? 0 : static_cast<size_t>(found - readings.begin()) - 1;
}

// Returns how many leading readings may be erased as older than `before`. Returns 0 if they are
// less than a quarter of all, because erasing moves the others.
template <typename Readings, typename At>
size_t ErasableBefore(const Readings& readings, absl::Time before, At at) {
  const size_t first = FirstOfWindow(readings, before, at);
  return first < readings.size() / 4 ? 0 : first;
}

}  // namespace gpuscaler
