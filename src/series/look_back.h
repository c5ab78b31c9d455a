// The part of what was read that a question looks back on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ranges>

#include "absl/time/time.h"

namespace gpuscaler {

// The place of the first reading that is not before then; `at` tells a reading's time, oldest
// first.
template <typename Readings, typename At>
size_t FirstSince(const Readings& readings, absl::Time since, At at) {
  const auto found = std::ranges::lower_bound(readings, since, {}, at);
  return static_cast<size_t>(found - readings.begin());
}

// With the one before that time, which stood then, and from which counters grew.
template <typename Readings, typename At>
size_t FirstOfWindow(const Readings& readings, absl::Time since, At at) {
  const size_t first = FirstSince(readings, since, at);
  return first == 0 ? 0 : first - 1;
}

// How many may go because they are before then. All that is behind them moves: none, while they are
// less than a quarter of all.
template <typename Readings, typename At>
size_t ForgottenBefore(const Readings& readings, absl::Time before, At at) {
  const size_t first = FirstOfWindow(readings, before, at);
  return first < readings.size() / 4 ? 0 : first;
}

}  // namespace gpuscaler
