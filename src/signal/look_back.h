// The part of what was read that a question looks back on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// The place of the first reading that is not before then; `at` tells a reading's time, oldest
// first.
template <typename Reading, typename At>
size_t FirstSince(const std::vector<Reading>& readings, absl::Time since, At at) {
  const auto found = std::ranges::lower_bound(readings, since, {}, at);
  return static_cast<size_t>(found - readings.begin());
}

// With the one before that time, which stood then, and from which counters grew.
template <typename Reading, typename At>
size_t FirstOfWindow(const std::vector<Reading>& readings, absl::Time since, At at) {
  const size_t first = FirstSince(readings, since, at);
  return first == 0 ? 0 : first - 1;
}

// All that is behind them moves: they go once they are half of all, so twice what is needed is kept
// at most.
template <typename Reading, typename At>
void ForgetBefore(std::vector<Reading>& readings, absl::Time before, At at) {
  const size_t first = FirstOfWindow(readings, before, at);
  if (first < readings.size() / 2) return;
  readings.erase(readings.begin(), readings.begin() + static_cast<std::ptrdiff_t>(first));
}

}  // namespace gpuscaler
