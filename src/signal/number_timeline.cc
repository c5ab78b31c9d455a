#include "signal/number_timeline.h"

#include <algorithm>
#include <optional>
#include <span>

#include "signal/look_back.h"

namespace gpuscaler {
namespace {

absl::Time AtOf(const CounterPoint& point) { return point.instant.at; }

}  // namespace

void NumberTimeline::Take(const absl::StatusOr<CounterPoint>& point) {
  failure_ = point.status();
  if (!point.ok()) return;
  answers_since_ = std::min(answers_since_, point->instant.at);
  points_.push_back(*point);
}

void NumberTimeline::Forget(absl::Time before) { ForgetBefore(points_, before, AtOf); }

std::optional<double> NumberTimeline::ValueAt(size_t place, absl::Duration window,
                                              absl::Duration longest_gap) const {
  if (!is_rate_) return points_[place].value;
  const size_t first = FirstOfWindow(points_, AtOf(points_[place]) - window, AtOf);
  const auto growth = GrowthOf(std::span(points_).subspan(first, place + 1 - first),
                               {.window = window, .longest_gap = longest_gap});
  if (!growth.has_value()) return std::nullopt;
  return growth->PerSecond();
}

SignalSeries NumberTimeline::Answer(const EngineQuestion& question, absl::Time now,
                                    absl::Duration longest_gap) const {
  SignalSeries series;
  series.answers_since = answers_since_;
  series.gap = std::string(failure_.message());
  for (size_t i = FirstOfWindow(points_, now - question.look_back, AtOf); i < points_.size(); ++i) {
    series.points.push_back(
        {.at = AtOf(points_[i]), .value = ValueAt(i, question.window, longest_gap)});
  }
  if (!failure_.ok()) return series;
  if (series.points.empty()) {
    series.gap = "not read yet";
  } else if (!series.points.back().value.has_value()) {
    series.gap = "how fast it grows is not known yet";
  }
  return series;
}

}  // namespace gpuscaler
