#include "engine/histogram_growth.h"

#include <utility>

namespace gpuscaler {
namespace {

std::vector<CounterInstant> InstantsOf(const std::vector<HistogramPoint>& points) {
  std::vector<CounterInstant> instants;
  instants.reserve(points.size());
  for (const HistogramPoint& point : points) instants.push_back(point.instant);
  for (size_t i = 1; i < points.size(); ++i) {
    if (!HaveSameBounds(*points[i - 1].histogram, *points[i].histogram)) {
      instants[i].goes_on = false;
    }
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
  const std::optional<CounterWindow> window = windows_.EndingAt(last, earliest);
  if (!window.has_value()) return nullptr;
  while (first_ < window->first) DropFirst();
  const bool is_of_others =
      first_ < same_bounds_ && windows_.Covered(first_, same_bounds_) > absl::ZeroDuration();
  return is_of_others ? nullptr : &sum_;
}

void HistogramGrowth::AddNext() {
  ++last_;
  if (!windows_.Counts(last_)) return;
  if (!HaveSameBounds(sum_, *points_[last_].histogram)) {
    sum_ = WithoutCounts(*points_[last_].histogram);
    same_bounds_ = last_ - 1;
  }
  Add(last_, 1);
}

void HistogramGrowth::DropFirst() {
  ++first_;
  if (first_ > same_bounds_ && windows_.Counts(first_)) Add(first_, -1);
}

void HistogramGrowth::Add(size_t place, double times) {
  const auto& older = points_[place - 1].histogram->buckets;
  const auto& newer = points_[place].histogram->buckets;
  for (size_t i = 0; i < newer.size(); ++i) {
    sum_.buckets[i].count += times * (newer[i].count - older[i].count);
  }
}

}  // namespace gpuscaler
