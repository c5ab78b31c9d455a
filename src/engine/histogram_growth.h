// How many came into each bucket of a histogram over a while.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "absl/time/time.h"
#include "engine/engine_reading.h"
#include "series/counter_window.h"

namespace gpuscaler {

struct HistogramPoint {
  CounterInstant instant;
  const Histogram* histogram = nullptr;
};

// Over the windows that end at one point after the other, in one pass. The histograms outlive it.
class HistogramGrowth {
 public:
  HistogramGrowth(std::vector<HistogramPoint> points, const CounterLookBack& look_back);

  // As CounterWindows::EndingAt(), until the next call. Null also where the bounds of what counts
  // changed within the window.
  const Histogram* EndingAt(size_t last, absl::Time earliest = absl::InfinitePast());

 private:
  void AddNext();
  void DropFirst();
  // What the point counted since the one before.
  void Add(size_t place, double times);

  const std::vector<HistogramPoint> points_;
  CounterWindows windows_;
  Histogram sum_;  // of what counts behind first_, up to last_
  size_t first_ = 0;
  size_t last_ = 0;
  size_t same_bounds_ = 0;  // where what counts with the bounds of the sum begins
};

}  // namespace gpuscaler
