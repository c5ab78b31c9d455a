// The readings of one node, as far as a trigger looks back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/fleet_history.h"
#include "model/staleness_limits.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Points into the NodeState that it was made from.
struct NodeView {
  const NodeState* state = nullptr;
  std::span<const NodeRun> runs;  // oldest first; never empty
  // The begin of the time that the first reading covers. A reading covers the time before it: back
  // to the previous reading, stale_after at most.
  absl::Time first_since;
  absl::Duration stale_after;
  // The newest reading counts until this time: `now`, or the reading's own time if the node is
  // stale. It is not the time of the last heartbeat. Agents send one every 1.5 s while nothing
  // changes, and aggregators receive it at different times. With `now` all aggregators decide the
  // same.
  absl::Time last;
  // Between this time and `now` no two consecutive readings are more than stale_after apart.
  absl::Time covered_since;
  std::string why_stale;  // WhyStale()

  const std::string& name() const { return state->node; }
  const NodeLayout& Layout() const { return *runs.back().layout(); }
  // Returns the newest reading of a GPU of Layout().
  GpuPointView Point(size_t gpu) const { return runs.back().point(gpu); }
  const std::vector<GpuSample>& Gpus() const { return state->history->Newest().gpus; }

  // The newest run ends at `last`.
  absl::Time EndOf(size_t run) const { return run + 1 == runs.size() ? last : runs[run].last; }

  // Returns how long the pod that now holds the GPU has had steady memory usage, as of `last`.
  SteadyMemory SteadyMemoryOf(size_t gpu) const;
};

// A position in the runs of a node: the newest run that has begun by a time. The time only moves
// forward. The view must outlive it. Not thread-safe.
class RunCursor {
 public:
  explicit RunCursor(const NodeView& view) : view_(&view) {}

  // Returns the first time after `at` at which a run begins or ends. InfiniteFuture: there is none.
  // Requires that the cursor is at `at`.
  absl::Time NextAfter(absl::Time at) const {
    if (at < end_) return end_;
    return runs_left() > 0 ? view_->runs[begun_].first : absl::InfiniteFuture();
  }
  void MoveTo(absl::Time at) {
    while (runs_left() > 0 && view_->runs[begun_].first <= at) end_ = view_->EndOf(begun_++);
  }

  // Equals -1 until a run has begun.
  int run() const { return static_cast<int>(begun_) - 1; }
  size_t runs_left() const { return view_->runs.size() - begun_; }
  // Returns when the newest reading by `at` was made. Requires that a run has begun.
  absl::Time ReadAt(absl::Time at) const { return std::min(at, end_); }
  // Returns since when the reading made at `at` covers the time; InfiniteFuture: none was made
  // then.
  absl::Time CoversSince(absl::Time at) const {
    if (at > end_) return absl::InfiniteFuture();
    const absl::Time first = view_->runs[begun_ - 1].first;
    if (at > first) return first;
    return begun_ == 1 ? view_->first_since : first - view_->stale_after;
  }

 private:
  const NodeView* view_;
  size_t begun_ = 0;                       // number of runs
  absl::Time end_ = absl::InfinitePast();  // when the run ended
};

// Empty: the node's newest reading is valid.
std::string WhyStale(const NodeState& state, absl::Time now, const StalenessLimits& staleness);

// Returns true if the trigger replaces the memory usage of engines that preallocate VRAM with
// another value (PreallocatedMemory).
bool EvaluatesPreallocatedMemory(const Trigger& trigger);

// The look-back is the trigger's longest window.
absl::Duration LookBack(const Trigger& trigger);
// The result is the start of the look-back minus stale_after: the value at its start may be from an
// earlier reading.
absl::Time OldestLookedAt(const Trigger& trigger, absl::Time now, const StalenessLimits& staleness);

// Runs that ended before `oldest` are left out, except for the newest run.
NodeView ViewOf(const NodeState& state, absl::Time oldest, absl::Time now,
                const StalenessLimits& staleness);

}  // namespace gpuscaler
