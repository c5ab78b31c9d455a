#include "scaling/next_change.h"

#include <optional>

#include "scaling/replica_load.h"
#include "scaling/window_load.h"

namespace gpuscaler {
namespace {

struct Changes {
  NextChange by_time;      // even if nodes keep reporting equal readings
  NextChange if_not_read;  // unless nodes keep reporting equal readings
};

// Adds the times at which the node's readings no longer count: they are stale, their agent has been
// disconnected for too long, or the look-back has passed them.
void AddNodeState(const Trigger& trigger, const NodeState& state, absl::Time now,
                  const StalenessLimits& staleness, Changes& changes) {
  const std::vector<NodeRun>& runs = state.history->runs;
  NextChange& next = changes.by_time;
  if (!state.why_disconnected.empty()) next.MayChangeAt(state.received_at + staleness.grace);
  // Without new readings each recent run grows stale. With them, only replicas compare readings
  // before the newest with `now` (AddReplica).
  for (size_t i = runs.size(); i-- > 0 && runs[i].last >= now - staleness.stale_after;) {
    changes.if_not_read.MayChangeAt(runs[i].last + staleness.stale_after);
    changes.if_not_read.MayChangeAt(runs[i].first + staleness.stale_after);
  }
  const absl::Time oldest = OldestLookedAt(trigger, now, staleness);
  // The oldest run that counts leaves the look-back, which ends at `now`.
  const auto first = std::ranges::lower_bound(runs, oldest, {}, &NodeRun::last);
  if (first != runs.end()) next.MayChangeAt(first->last + (now - oldest));
}

// Adds when the answer to "do samples cover activationWindow?" may change. The begin of the window
// advances with time. The answer may change when it reaches a sample, or the time from which a
// sample or a reading covers.
void AddCover(const Trigger& trigger, Samples samples, absl::Time now,
              const StalenessLimits& staleness, NextChange& next) {
  const absl::Duration window = trigger.activation_window;
  // Only the newest sample counts then, and no sample leaves the window.
  if (window == absl::ZeroDuration()) return;
  const absl::Time begin = now - window;
  absl::Time first = absl::InfiniteFuture();
  const auto passes = [&](absl::Time at) {
    if (at >= begin) first = std::min(first, at);
  };
  for (const ReplicaSample& sample : From(samples, begin)) {
    passes(sample.at);
    passes(sample.since);
    for (const absl::Time read_at : {sample.metric_read_at, sample.utilization_read_at}) {
      passes(read_at);
      passes(read_at - staleness.stale_after);
    }
  }
  // A window that begins at most stale_after before the last sample is covered without any other.
  passes(samples.back().at - staleness.stale_after);
  next.MayChangeAt(first + window);
}

// Adds when memory that has not changed counts as preallocated: after preallocationWindow.
void AddSteadyMemory(const Trigger& trigger, const Replica& replica, NextChange& next) {
  if (trigger.metric != MetricType::kMemoryUsedPercent) return;
  for (const SteadyMemory& memory : replica.steady_memory) {
    for (const absl::Time since : {memory.current.from, memory.high_since}) {
      next.MayChangeAt(std::max(since, replica.started_at) + trigger.preallocation_window);
      next.MayChangeAt(std::max(since, replica.held_since) + trigger.preallocation_window);
    }
  }
}

void AddReplica(const Trigger& trigger, const Replica& replica, absl::Time now,
                const StalenessLimits& staleness, Changes& changes) {
  const Samples samples = replica.samples;
  const ReplicaSample& newest = samples.back();
  NextChange& next = changes.by_time;
  if (!replica.present) next.MayChangeAt(newest.at + trigger.activation_window);
  // A value that was read at `now` stays fresh with each equal reading. An older one is the last
  // known value of a GPU that cannot be read, so it grows stale in any case.
  for (const absl::Time read_at : {newest.metric_read_at, newest.utilization_read_at}) {
    (read_at == now ? changes.if_not_read : next).MayChangeAt(read_at + staleness.stale_after);
  }
  next.MayChangeAt(replica.started_at);
  next.MayChangeAt(replica.frozen_at);  // one of its engines counts as frozen
  next.MayChangeAt(replica.started_at + trigger.activation_window);
  next.MayChangeAt(replica.starting_since + kLongestStart);
  next.MayChangeAt(replica.covered_since + trigger.activation_window);
  const Samples since_start = From(samples, replica.started_at);
  if (!since_start.empty() && EvaluatesPreallocatedMemory(trigger)) {
    next.MayChangeAt(since_start.front().at + trigger.preallocation_window);
  }
  AddSteadyMemory(trigger, replica, next);
  AddCover(trigger, samples, now, staleness, next);
}

bool AllEqual(Samples samples, std::optional<double> ReplicaSample::*reading) {
  std::optional<double> first;
  for (const ReplicaSample& sample : samples) {
    const std::optional<double>& value = sample.*reading;
    if (!value) continue;
    if (first && *first != *value) return false;
    first = value;
  }
  return true;
}

// Adds when the load smoothed over `window` changes. The mean of readings that differ changes
// constantly, because the window advances over them. A replica of memory_used_percent may count its
// memory or its utilization, so both must be equal.
void AddWindow(const Trigger& trigger, const Replica& replica, absl::Time now, NextChange& next) {
  if (trigger.window == absl::ZeroDuration()) return;
  const absl::Time begin = now - trigger.window;
  const absl::Time until = CountedUntil(replica, now);
  const bool is_partly_counted =
      until < now || (begin < replica.counted_since && replica.counted_since <= now);
  if (is_partly_counted && begin < until && AveragesTheSum(trigger))
    return next.ChangesConstantly();
  if (!replica.present) return;
  // From then on the window has no part of which the readings were dropped.
  next.MayChangeAt(replica.dropped_until + trigger.window);
  const Samples in_window = From(replica.samples, now - trigger.window);
  const bool steady =
      AllEqual(in_window, &ReplicaSample::metric) &&
      (!EvaluatesPreallocatedMemory(trigger) || AllEqual(in_window, &ReplicaSample::utilization));
  if (steady) return;
  if (trigger.window_aggregation != WindowAggregation::kMax) return next.ChangesConstantly();
  // The maximum can only change when a sample leaves the window.
  next.MayChangeAt(in_window.front().at + trigger.window);
}

}  // namespace

void SetValidUntil(const Trigger& trigger, const FleetHistory& fleet,
                   const std::vector<Replica>& replicas, const StalenessLimits& staleness,
                   Decision& decision) {
  Changes changes{.by_time = NextChange(fleet.now), .if_not_read = NextChange(fleet.now)};
  changes.if_not_read.MayChangeAt(fleet.valid_until);
  for (const NodeState& state : fleet.nodes) {
    AddNodeState(trigger, state, fleet.now, staleness, changes);
  }
  for (const Replica& replica : replicas) {
    AddReplica(trigger, replica, fleet.now, staleness, changes);
  }
  NextChange value(fleet.now);
  for (const Replica& replica : replicas) AddWindow(trigger, replica, fleet.now, value);
  decision.active_while_read = changes.by_time.until();
  decision.active_until = std::min(decision.active_while_read, changes.if_not_read.until());
  decision.valid_until = std::min(decision.active_until, value.until());
}

}  // namespace gpuscaler
