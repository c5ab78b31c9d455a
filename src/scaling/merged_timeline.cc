#include "scaling/merged_timeline.h"

#include <algorithm>

namespace gpuscaler {
namespace {

std::vector<absl::Time> AllTimes(std::span<const NodeView> views,
                                 const std::vector<size_t>& nodes) {
  std::vector<absl::Time> times;
  for (const size_t node : nodes) {
    for (const SampleTime& tick : views[node].ticks) times.push_back(tick.at);
  }
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

// A node's steps at each of `times`. Inside a run its readings stand, so they are of that very
// time; between two runs those of the earlier one are the newest. `since` gets earlier where
// the node speaks for the time before.
std::vector<Step> StepsAt(const std::vector<absl::Time>& times, const NodeView& view,
                          std::vector<absl::Time>& since) {
  std::vector<Step> steps(times.size());
  size_t next = 0;  // the first moment behind the time
  for (size_t i = 0; i < times.size(); ++i) {
    while (next < view.ticks.size() && view.ticks[next].at <= times[i]) ++next;
    const bool begun = next > 0;
    if (begun) steps[i] = view.steps[next - 1];
    const bool within =
        begun && next < view.ticks.size() && view.steps[next].run == view.steps[next - 1].run;
    if (within) steps[i].read_at = times[i];
    const bool speaks = begun && steps[i].read_at == times[i];
    if (speaks) since[i] = std::min(since[i], view.ticks[within ? next : next - 1].since);
  }
  return steps;
}

}  // namespace

MergedTimeline::MergedTimeline(std::span<const NodeView> views, const std::vector<size_t>& nodes) {
  if (nodes.size() > 1) {
    Merge(views, nodes);
  } else {
    ticks_ = views[nodes.front()].ticks;
    steps_.emplace_back(views[nodes.front()].steps);
  }
}

void MergedTimeline::Merge(std::span<const NodeView> views, const std::vector<size_t>& nodes) {
  const std::vector<absl::Time> times = AllTimes(views, nodes);
  std::vector<absl::Time> since = times;
  for (const size_t node : nodes) merged_steps_.push_back(StepsAt(times, views[node], since));
  for (size_t i = 0; i < times.size(); ++i) {
    const absl::Time before = i == 0 ? absl::InfinitePast() : times[i - 1];
    merged_ticks_.push_back({.since = std::max(since[i], before), .at = times[i]});
  }
  ticks_ = merged_ticks_;
  for (const std::vector<Step>& steps : merged_steps_) steps_.emplace_back(steps);
}

}  // namespace gpuscaler
