// How many observations a histogram's buckets gained in a time window.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "absl/time/time.h"
#include "engine/counter_window.h"
#include "engine/engine_reading.h"

namespace gpuscaler {

struct HistogramPoint {
  CounterInstant instant;
  const Histogram* histogram = nullptr;
};

// The growth of a histogram over sliding windows. Each call moves the window forward. No histogram
// may be null, and all must outlive this object. Not thread-safe.
class HistogramGrowth {
 public:
  HistogramGrowth(std::vector<HistogramPoint> points, const CounterLookBack& look_back);

  // Returns the growth in the window that ends at point `last` and begins no earlier than
  // `earliest`. Neither may be lower than in the previous call. Returns nullptr if CounterWindows
  // returns no window, or if the bounds changed within its covered part. Valid until the next call.
  const Histogram* EndingAt(size_t last, absl::Time earliest = absl::InfinitePast());

 private:
  void AddNext();
  void RemoveFirst();
  // Adds the growth from the previous point to point `index`, times `sign`.
  void Add(size_t index, double sign);

  const std::vector<HistogramPoint> points_;
  CounterWindows windows_;
  Histogram sum_;  // growth from first_ to last_
  size_t first_ = 0;
  size_t last_ = 0;
  size_t bounds_since_ = 0;  // the first point with the bounds of sum_
};

}  // namespace gpuscaler
