#include "engine/counter_window.h"

#include <utility>

namespace gpuscaler {
namespace {

std::vector<CounterInstant> InstantsOf(std::span<const CounterPoint> points) {
  std::vector<CounterInstant> instants;
  instants.reserve(points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    instants.push_back(points[i].instant);
    if (i > 0 && points[i].value < points[i - 1].value) instants.back().continues = false;
  }
  return instants;
}

}  // namespace

CounterWindows::CounterWindows(std::vector<CounterInstant> instants,
                               const CounterLookBack& look_back)
    : look_back_(look_back), instants_(std::move(instants)) {
  until_.reserve(instants_.size());
  absl::Duration until;
  for (size_t i = 0; i < instants_.size(); ++i) {
    if (Counts(i)) until += instants_[i].at - instants_[i - 1].at;
    until_.push_back(until);
  }
}

bool CounterWindows::Counts(size_t index) const {
  return index > 0 && instants_[index].continues &&
         instants_[index].at - instants_[index - 1].at <= look_back_.max_gap;
}

std::optional<size_t> CounterWindows::FirstOf(size_t last, absl::Time earliest) {
  const absl::Time start = instants_[last].at - look_back_.window;
  while (first_ < last && instants_[first_].at < earliest) ++first_;
  while (first_ + 1 < last && instants_[first_ + 1].at <= start) ++first_;
  const absl::Duration covered = Covered(first_, last);
  if (covered <= absl::ZeroDuration() || covered < look_back_.window / 2) return std::nullopt;
  return first_;
}

CounterGrowth::CounterGrowth(std::span<const CounterPoint> points, const CounterLookBack& look_back)
    : windows_(InstantsOf(points), look_back) {
  grown_.reserve(points.size());
  double grown = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    if (windows_.Counts(i)) grown += points[i].value - points[i - 1].value;
    grown_.push_back(grown);
  }
}

std::optional<Growth> CounterGrowth::EndingAt(size_t last, absl::Time earliest) {
  const std::optional<size_t> first = windows_.FirstOf(last, earliest);
  if (!first.has_value()) return std::nullopt;
  return Growth{.by = grown_[last] - grown_[*first], .over = windows_.Covered(*first, last)};
}

}  // namespace gpuscaler
