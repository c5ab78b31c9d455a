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

// Returns a node's run at each of `times`. Within a run readings are equal, so read_at is that very
// time. Between two runs the earlier one is the newest. `since` is lowered to what the node
// covers.
std::vector<RunAtTick> RunsAt(const std::vector<absl::Time>& times, const NodeView& view,
                              std::vector<absl::Time>& since) {
  std::vector<RunAtTick> runs(times.size());
  size_t next = 0;  // the first tick after the time
  for (size_t i = 0; i < times.size(); ++i) {
    while (next < view.ticks.size() && view.ticks[next].at <= times[i]) ++next;
    const bool begun = next > 0;
    if (begun) runs[i] = view.run_at_tick[next - 1];
    const bool within = begun && next < view.ticks.size() &&
                        view.run_at_tick[next].run == view.run_at_tick[next - 1].run;
    if (within) runs[i].read_at = times[i];
    const bool covers = begun && runs[i].read_at == times[i];
    const size_t covering = begun && view.ticks[next - 1].at == times[i] ? next - 1 : next;
    if (covers) since[i] = std::min(since[i], view.ticks[covering].since);
  }
  return runs;
}

}  // namespace

MergedTimeline::MergedTimeline(std::span<const NodeView> views, const std::vector<size_t>& nodes) {
  if (nodes.size() > 1) {
    Merge(views, nodes);
  } else {
    ticks_ = views[nodes.front()].ticks;
    run_at_tick_.emplace_back(views[nodes.front()].run_at_tick);
  }
}

void MergedTimeline::Merge(std::span<const NodeView> views, const std::vector<size_t>& nodes) {
  const std::vector<absl::Time> times = AllTimes(views, nodes);
  std::vector<absl::Time> since = times;
  for (const size_t node : nodes) merged_run_at_tick_.push_back(RunsAt(times, views[node], since));
  for (size_t i = 0; i < times.size(); ++i) {
    const absl::Time before = i == 0 ? absl::InfinitePast() : times[i - 1];
    merged_ticks_.push_back({.since = std::max(since[i], before), .at = times[i]});
  }
  ticks_ = merged_ticks_;
  for (const std::vector<RunAtTick>& runs : merged_run_at_tick_) run_at_tick_.emplace_back(runs);
}

}  // namespace gpuscaler
