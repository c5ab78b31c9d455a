// The readings of one node, as far as a trigger looks back.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/fleet_history.h"
#include "model/staleness_limits.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// When a reading was made, and the time before it that it covers: back to the previous reading,
// stale_after at most.
struct SampleTime {
  absl::Time since;
  absl::Time at;
};

// The newest run of a node that has begun by a tick, which is a time of NodeView::ticks or of a
// MergedTimeline. A run is a sequence of equal readings (NodeRun).
struct RunAtTick {
  int run = -1;                               // index in NodeView::runs; -1: none
  absl::Time read_at = absl::InfinitePast();  // the newest time of the run up to the tick
};

// Points into the NodeState that it was made from.
struct NodeView {
  const NodeState* state = nullptr;
  std::span<const NodeRun> runs;  // oldest first; never empty
  // The first and the last time of each run: between them its readings are equal. The newest run
  // lasts until `last`.
  std::vector<SampleTime> ticks;
  std::vector<RunAtTick> run_at_tick;
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
  // Returns the newest readings of all GPUs, in the order of Layout().
  NodePointsView Points() const { return runs.back().points(); }
  const std::vector<GpuSample>& Gpus() const { return state->history->Newest().gpus; }

  // Returns how long the pod that now holds the GPU has had steady memory usage, as of `last`.
  SteadyMemory SteadyMemoryOf(size_t gpu) const;
};

// Returns why the node's newest reading is no longer valid; empty: it is valid.
std::string WhyStale(const NodeState& state, absl::Time now, const StalenessLimits& staleness);

// Returns true if the trigger replaces the memory usage of engines that preallocate VRAM with
// another value (PreallocatedMemory).
bool EvaluatesPreallocatedMemory(const Trigger& trigger);

// Returns how far a trigger looks back: its longest window.
absl::Duration LookBack(const Trigger& trigger);
// Returns the start of the look-back minus stale_after: the value at its start may be from an
// earlier reading.
absl::Time OldestLookedAt(const Trigger& trigger, absl::Time now, const StalenessLimits& staleness);

// Returns the view. Runs that ended before `oldest` are left out, except for the newest run.
NodeView ViewOf(const NodeState& state, absl::Time oldest, absl::Time now,
                const StalenessLimits& staleness);

}  // namespace gpuscaler
