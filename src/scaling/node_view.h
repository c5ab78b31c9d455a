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

// The run that a node is in at a tick: the newest that has begun by then.
struct RunAtTick {
  int run = -1;                               // index in NodeView::runs; -1: none
  absl::Time read_at = absl::InfinitePast();  // no later than the tick
};

// Points into the NodeState that it was made from.
struct NodeView {
  const NodeState* state = nullptr;
  std::span<const NodeRun> runs;  // oldest first; never empty
  std::vector<SampleTime> ticks;
  std::vector<RunAtTick> steps;  // one for each tick
  // Until when the newest reading is valid: now, or if the node is stale, when the reading was
  // made. An agent reports only every 1.5 s that nothing changed, and aggregators receive that at
  // different times: with `now` they all decide the same.
  absl::Time last;
  // From then to now readings follow each other without a gap longer than stale_after.
  absl::Time covered_since;
  std::string why_stale;  // WhyStale()

  const std::string& name() const { return state->node; }
  const NodeLayout& Layout() const { return *runs.back().layout(); }
  NodePointsView Points() const { return runs.back().points(); }
  const std::vector<GpuSample>& Gpus() const { return state->history->Newest().gpus; }

  // Returns the memory state of the GPU's present holder, as of `last`.
  SteadyMemory SteadyMemoryOf(size_t gpu) const;
};

// Returns why the node's newest reading is no longer valid; empty: it is valid.
std::string WhyStale(const NodeState& state, absl::Time now, const StalenessLimits& staleness);

// Returns whether preallocated VRAM counts as something other than its reading.
bool EvaluatesPreallocatedMemory(const Trigger& trigger);

// Returns how far a trigger looks back: its longest window.
absl::Duration LookBack(const Trigger& trigger);
// Returns the time of the look-back, and stale_after before it.
absl::Time OldestLookedAt(const Trigger& trigger, absl::Time now, const StalenessLimits& staleness);

// Returns the view. Runs that ended before `oldest` are left out, except for the newest run.
NodeView ViewOf(const NodeState& state, absl::Time oldest, absl::Time now,
                const StalenessLimits& staleness);

}  // namespace gpuscaler
