#include "engine/histogram_growth.h"

#include <utility>

namespace gpuscaler {
namespace {

std::vector<CounterInstant> InstantsOf(const std::vector<HistogramPoint>& points) {
  std::vector<CounterInstant> instants;
  instants.reserve(points.size());
  for (const HistogramPoint& point : points) instants.push_back(point.instant);
  for (size_t i = 1; i < points.size(); ++i) {
    const Histogram& older = *points[i - 1].histogram;
    const bool continues = IsUnobserved(older) || HaveSameBounds(older, *points[i].histogram);
    if (!continues) instants[i].continues = false;
  }
  return instants;
}

Histogram WithoutCounts(Histogram histogram) {
  for (Histogram::Bucket& bucket : histogram.buckets) bucket.count = 0;
  return histogram;
}

}  // namespace

HistogramGrowth::HistogramGrowth(std::vector<HistogramPoint> points,
                                 const CounterLookBack& look_back)
    : points_(std::move(points)), windows_(InstantsOf(points_), look_back) {
  if (!points_.empty()) sum_ = WithoutCounts(*points_.front().histogram);
}

const Histogram* HistogramGrowth::EndingAt(size_t last, absl::Time earliest) {
  while (last_ < last) AddNext();
  const std::optional<size_t> first = windows_.FirstOf(last, earliest);
  if (!first.has_value()) return nullptr;
  while (first_ < *first) RemoveFirst();
  const bool mixes_bounds =
      first_ < bounds_since_ && windows_.Covered(first_, bounds_since_) > absl::ZeroDuration();
  return mixes_bounds ? nullptr : &sum_;
}

void HistogramGrowth::AddNext() {
  ++last_;
  const Histogram& newest = *points_[last_].histogram;
  if (!windows_.Counts(last_) || IsUnobserved(newest)) return;
  if (!HaveSameBounds(sum_, newest)) {
    if (!IsUnobserved(sum_)) bounds_since_ = last_ - 1;
    sum_ = WithoutCounts(newest);
  }
  Add(last_, 1);
}

void HistogramGrowth::RemoveFirst() {
  ++first_;
  if (first_ > bounds_since_ && windows_.Counts(first_)) Add(first_, -1);
}

void HistogramGrowth::Add(size_t index, double sign) {
  const Histogram& older = *points_[index - 1].histogram;
  const Histogram& newer = *points_[index].histogram;
  if (IsUnobserved(newer)) return;
  for (size_t i = 0; i < newer.buckets.size(); ++i) {
    const double before = IsUnobserved(older) ? 0 : older.buckets[i].count;
    sum_.buckets[i].count += sign * (newer.buckets[i].count - before);
  }
}

}  // namespace gpuscaler
