// How many observations a histogram's buckets gained in a time window.
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

// Moves over windows that end at successive points, in one pass. The histograms must outlive it.
class HistogramGrowth {
 public:
  HistogramGrowth(std::vector<HistogramPoint> points, const CounterLookBack& look_back);

  // Returns the growth as CounterWindows::EndingAt() does, valid until the next call. Null also if
  // the bounds changed within the covered part of the window.
  const Histogram* EndingAt(size_t last, absl::Time earliest = absl::InfinitePast());

 private:
  void AddNext();
  void DropFirst();
  // Adds `times` times the growth from the previous point to this one.
  void Add(size_t place, double times);

  const std::vector<HistogramPoint> points_;
  CounterWindows windows_;
  Histogram sum_;  // growth from first_ to last_
  size_t first_ = 0;
  size_t last_ = 0;
  size_t same_bounds_ = 0;  // the first point with the bounds of sum_
};

}  // namespace gpuscaler
