#include "scaling/next_change.h"

#include <optional>

#include "scaling/replica_load.h"
#include "scaling/window_load.h"

namespace gpuscaler {
namespace {

// Changes with and without further equal readings.
struct Changes {
  NextChange while_read;
  NextChange unless_read;
};

// Adds the times that every decision compares: of disconnected nodes, stale readings, and the
// oldest reading that counts.
void AddNodeState(const Trigger& trigger, const NodeState& state, absl::Time now,
                  const StalenessLimits& staleness, Changes& changes) {
  const std::vector<NodeRun>& runs = state.history->runs;
  NextChange& next = changes.while_read;
  if (!state.silence.empty()) next.Crosses(state.received_at + staleness.grace);
  // Readings before the newest are compared with `now` only through replicas (AddReplica).
  for (size_t i = runs.size(); i-- > 0 && runs[i].last >= now - staleness.stale_after;) {
    changes.unless_read.Crosses(runs[i].last + staleness.stale_after);
    changes.unless_read.Crosses(runs[i].first + staleness.stale_after);
  }
  const absl::Time oldest = OldestLookedAt(trigger, now, staleness);
  const auto first = std::ranges::lower_bound(runs, oldest, {}, &NodeRun::last);
  if (first != runs.end()) next.Crosses(first->last + (now - oldest));
}

// Adds when samples begin or stop to cover activationWindow: its begin passes each time at which a
// reading was made or begins to cover.
void AddCover(const Trigger& trigger, Samples samples, absl::Time now,
              const StalenessLimits& staleness, NextChange& next) {
  const absl::Duration window = trigger.activation_window;
  // Only the newest sample counts, and it moves with time.
  if (window == absl::ZeroDuration()) return;
  const absl::Time begin = now - window;
  const auto passes = [&](absl::Time at) {
    if (at >= begin) next.Crosses(at + window);
  };
  for (const ReplicaSample& sample : From(samples, begin)) {
    passes(sample.at);
    passes(sample.since);
    for (const absl::Time read_at : {sample.metric_read_at, sample.utilization_read_at}) {
      passes(read_at);
      passes(read_at - staleness.stale_after);
    }
  }
  passes(samples.back().at - staleness.stale_after);
}

// Memory that does not move is steady for longer with every instant.
void AddSteadyMemory(const Trigger& trigger, const Replica& replica, NextChange& next) {
  if (trigger.metric != MetricType::kMemoryUsedPercent) return;
  for (const SteadyMemory& memory : replica.steady_memory) {
    const SteadyMemory::Parts parts = memory.parts();
    for (const absl::Time since : {parts.current.from, parts.high_since}) {
      next.Crosses(std::max(since, replica.warm_at) + trigger.preallocation_window);
      next.Crosses(std::max(since, replica.held_since) + trigger.preallocation_window);
    }
  }
}

void AddReplica(const Trigger& trigger, const Replica& replica, absl::Time now,
                const StalenessLimits& staleness, Changes& changes) {
  const Samples samples = replica.samples;
  const ReplicaSample& newest = samples.back();
  NextChange& next = changes.while_read;
  if (!replica.present) next.Crosses(newest.at + trigger.activation_window);
  for (const absl::Time read_at : {newest.metric_read_at, newest.utilization_read_at}) {
    (read_at == now ? changes.unless_read : next).Crosses(read_at + staleness.stale_after);
  }
  next.Crosses(replica.warm_at);
  next.Crosses(replica.frozen_at);
  next.Crosses(replica.warm_at + trigger.activation_window);
  next.Crosses(replica.starting_since + kLongestStart);
  next.Crosses(replica.covered_since + trigger.activation_window);
  const Samples warm = From(samples, replica.warm_at);
  if (!warm.empty() && EvaluatesPreallocatedMemory(trigger)) {
    next.Crosses(warm.front().at + trigger.preallocation_window);
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

// A window moves over readings that differ. A replica of memory_used_percent may count its memory
// or its utilization.
void AddWindow(const Trigger& trigger, const Replica& replica, absl::Time now, NextChange& next) {
  if (trigger.window == absl::ZeroDuration()) return;
  const absl::Time begin = now - trigger.window;
  const absl::Time until = CountedUntil(replica, now);
  const bool part = until < now || (begin < replica.counted_since && replica.counted_since <= now);
  if (part && begin < until && AveragesTheSum(trigger)) return next.Moves();
  if (!replica.present) return;
  next.Crosses(replica.dropped_until + trigger.window);
  const Samples in_window = From(replica.samples, now - trigger.window);
  const bool steady =
      AllEqual(in_window, &ReplicaSample::metric) &&
      (!EvaluatesPreallocatedMemory(trigger) || AllEqual(in_window, &ReplicaSample::utilization));
  if (steady) return;
  if (trigger.window_aggregation != WindowAggregation::kMax) return next.Moves();
  next.Crosses(in_window.front().at + trigger.window);
}

}  // namespace

Validity ValidityOf(const Trigger& trigger, const FleetHistory& fleet,
                    const std::vector<Replica>& replicas, const StalenessLimits& staleness) {
  Changes changes{.while_read = NextChange(fleet.now), .unless_read = NextChange(fleet.now)};
  changes.unless_read.Crosses(fleet.valid_until);
  for (const NodeState& state : fleet.nodes) {
    AddNodeState(trigger, state, fleet.now, staleness, changes);
  }
  for (const Replica& replica : replicas) {
    AddReplica(trigger, replica, fleet.now, staleness, changes);
  }
  NextChange value(fleet.now);
  for (const Replica& replica : replicas) AddWindow(trigger, replica, fleet.now, value);
  const absl::Time while_read = changes.while_read.until();
  const absl::Time activity = std::min(while_read, changes.unless_read.until());
  return {
      .activity = activity, .value = std::min(activity, value.until()), .while_read = while_read};
}

}  // namespace gpuscaler
