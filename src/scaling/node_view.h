// One node's readings as a trigger looks back on them, moment by moment.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/fleet_history.h"
#include "model/staleness_limits.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// When something was read, and the time before it that this speaks for: back to the reading before
// it, stale_after at most.
struct SampleTime {
  absl::Time since;
  absl::Time at;
};

// What a node shows at a moment: its newest run that has begun by then.
struct Step {
  int run = -1;                               // of NodeView::runs; -1: none
  absl::Time read_at = absl::InfinitePast();  // no later than the moment
};

// Points into the track it was made from.
struct NodeView {
  const NodeState* state = nullptr;
  std::span<const NodeRun> runs;  // oldest first; never empty
  std::vector<SampleTime> ticks;
  std::vector<Step> steps;  // of each moment
  // Until when the newest reading speaks: now. An agent that found nothing new says so only every
  // 1.5 s, each aggregator hears it at another time, and all give one answer. Of a stale node when
  // it was made.
  absl::Time last;
  // From there on its readings follow each other to now without a gap longer than stale_after.
  absl::Time covered_since;
  std::string why_stale;  // WhyStale()

  const std::string& name() const { return state->node; }
  const NodeLayout& Layout() const { return *runs.back().layout(); }
  StoredPoints Points() const { return runs.back().points(); }
  const std::vector<GpuSample>& Gpus() const { return state->history->Newest().gpus; }

  // Memory of a GPU's present holder, as of `last`.
  SteadyMemory SteadyMemoryOf(size_t gpu) const;
};

// Why the node's newest reading no longer speaks for its GPUs; empty: it does.
std::string WhyStale(const NodeState& state, absl::Time now, const StalenessLimits& staleness);

// Whether preallocated VRAM counts something else than itself (DESIGN 2).
bool EvaluatesPreallocatedMemory(const Trigger& trigger);

// How far a trigger looks back on readings: its longest window,
absl::Duration LookBack(const Trigger& trigger);
// and stale_after before it.
absl::Time OldestLookedAt(const Trigger& trigger, absl::Time now, const StalenessLimits& staleness);

// Runs that ended before `oldest` are left out, but for the newest.
NodeView ViewOf(const NodeState& state, absl::Time oldest, absl::Time now,
                const StalenessLimits& staleness);

}  // namespace gpuscaler
