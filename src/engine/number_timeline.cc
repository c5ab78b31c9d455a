#include "engine/number_timeline.h"

#include <algorithm>
#include <span>

#include "base/not_yet.h"
#include "engine/look_back.h"

namespace gpuscaler {
namespace {

absl::Time AtOf(const CounterPoint& point) { return point.instant.at; }

}  // namespace

void NumberTimeline::AddPoint(const absl::StatusOr<CounterPoint>& point, const std::string& note) {
  failure_ = point.status();
  if (!point.ok()) return;
  answers_since_ = std::min(answers_since_, point->instant.at);
  points_.push_back(*point);
  note_ = note;
}

void NumberTimeline::Forget(absl::Time before) {
  const size_t gone = ErasableBefore(points_, before, AtOf);
  points_.erase(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(gone));
}

size_t NumberTimeline::Bytes() const {
  return sizeof(*this) + points_.capacity() * sizeof(CounterPoint) + failure_.message().size() +
         note_.capacity();
}

std::vector<SignalPoint> NumberTimeline::PointsFrom(size_t first,
                                                    const CounterLookBack& look_back) const {
  std::vector<SignalPoint> points;
  if (first == points_.size()) return points;
  points.reserve(points_.size() - first);
  const size_t first_of_window =
      FirstOfWindow(points_, AtOf(points_[first]) - look_back.window, AtOf);
  const std::span<const CounterPoint> all = points_;
  CounterGrowth growth(is_rate_ ? all.subspan(first_of_window) : std::span<const CounterPoint>(),
                       look_back);
  for (size_t i = first; i < points_.size(); ++i) {
    SignalPoint& point = points.emplace_back(SignalPoint{.at = AtOf(points_[i])});
    if (!is_rate_) {
      point.value = points_[i].value;
    } else if (const auto grown = growth.EndingAt(i - first_of_window)) {
      point.value = grown->PerSecond();
    }
  }
  return points;
}

SignalSeries NumberTimeline::Answer(const EngineQuery& query, absl::Time now,
                                    absl::Duration max_gap) const {
  SignalSeries series;
  series.first_read_at = answers_since_;
  series.was_attempted =
      answers_since_ != absl::InfiniteFuture() || (!failure_.ok() && !IsNotYet(failure_));
  series.error = std::string(failure_.message());
  series.note = note_;
  series.points = PointsFrom(FirstOfWindow(points_, now - query.look_back, AtOf),
                             {.window = query.window, .max_gap = max_gap});
  if (!failure_.ok()) return series;
  if (series.points.empty()) {
    series.error = "not read yet";
  } else if (!series.points.back().value.has_value()) {
    series.error = "how fast it grows is not known yet";
  }
  return series;
}

}  // namespace gpuscaler
