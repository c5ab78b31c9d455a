#include "scaling/node_view.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"

namespace gpuscaler {
namespace {

using Runs = std::vector<NodeRun>;

// Runs that ended before `oldest` do not count, except for the newest.
size_t FirstLookedAt(const Runs& runs, absl::Time oldest) {
  const auto first = std::ranges::lower_bound(runs, oldest, {}, &NodeRun::last);
  return std::min(static_cast<size_t>(first - runs.begin()), runs.size() - 1);
}

// Returns since when the first reading of a run covers the time. The first reading of all covers as
// much time before it as after it.
absl::Time FirstSince(const NodeHistory& history, size_t i, absl::Duration stale_after) {
  const Runs& runs = history.runs;
  const NodeRun& run = runs[i];
  const absl::Time before = i > 0 ? runs[i - 1].last : history.dropped_until;
  if (before != absl::InfinitePast()) return std::max(before, run.first - stale_after);
  if (runs.size() == 1) return run.first - stale_after;
  return run.first - std::min(runs[1].first - run.last, stale_after);
}

absl::Time CoveredSince(const Runs& runs, absl::Time last, absl::Time now,
                        absl::Duration stale_after) {
  if (now - last > stale_after) return now;
  absl::Time reached = runs.back().first;
  for (size_t i = runs.size() - 1; i-- > 0;) {
    if (reached - runs[i].last > stale_after) break;
    reached = runs[i].first;
  }
  return reached;
}

std::string ReadIntervalText(const NodeSnapshot& newest, absl::Duration stale_after) {
  if (!IsReadTooSeldom(newest.read_every, stale_after)) return "";
  return absl::StrCat(": it is read every ", DurationText(newest.read_every), ", for which ",
                      "--stale-after=", DurationText(stale_after), " is too short");
}

}  // namespace

std::string WhyStale(const NodeState& state, absl::Time now, const StalenessLimits& staleness) {
  if (!state.disputed.empty()) {
    return absl::StrCat("node ", state.node,
                        " is claimed by two agents with different GPUs: ", state.disputed);
  }
  const absl::Duration disconnected_for = now - state.received_at;
  if (!state.why_disconnected.empty() && disconnected_for > staleness.grace) {
    return absl::StrCat("agent of node ", state.node, " disconnected for ",
                        AgeText(disconnected_for), ": ", state.why_disconnected);
  }
  const absl::Time evaluated_at = state.why_disconnected.empty() ? now : state.received_at;
  if (evaluated_at - state.history->NewestAt() <= staleness.stale_after) return "";
  return absl::StrCat("node ", state.node, " was last read ",
                      AgeText(now - state.history->NewestAt()), " ago",
                      ReadIntervalText(state.history->Newest(), staleness.stale_after));
}

bool EvaluatesPreallocatedMemory(const Trigger& trigger) {
  return trigger.metric == MetricType::kMemoryUsedPercent &&
         trigger.preallocated_memory != PreallocatedMemory::kLiteral;
}

absl::Duration LookBack(const Trigger& trigger) {
  const absl::Duration longest = std::max(trigger.window, trigger.activation_window);
  return EvaluatesPreallocatedMemory(trigger) ? std::max(longest, trigger.preallocation_window)
                                              : longest;
}

absl::Time OldestLookedAt(const Trigger& trigger, absl::Time now,
                          const StalenessLimits& staleness) {
  return now - staleness.stale_after - LookBack(trigger);
}

SteadyMemory NodeView::SteadyMemoryOf(size_t gpu) const {
  SteadyMemory memory = Gpus()[gpu].steady_memory;
  if (last > state->history->Newest().taken_at) memory.ExtendTo(last);
  return memory;
}

NodeView ViewOf(const NodeState& state, absl::Time oldest, absl::Time now,
                const StalenessLimits& staleness) {
  const Runs& runs = state.history->runs;
  const size_t first = FirstLookedAt(runs, oldest);
  NodeView view{.state = &state,
                .runs = std::span(runs).subspan(first),
                .first_since = FirstSince(*state.history, first, staleness.stale_after),
                .stale_after = staleness.stale_after};
  view.why_stale = WhyStale(state, now, staleness);
  const absl::Time newest_at = state.history->NewestAt();
  view.last = view.why_stale.empty() ? std::max(now, newest_at) : newest_at;
  view.covered_since = CoveredSince(runs, view.last, now, staleness.stale_after);
  return view;
}

}  // namespace gpuscaler
