#include "scaling/departed_engines.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "scaling/frozen_engine.h"
#include "scaling/pod_replicas.h"
#include "scaling/replica_load.h"
#include "scaling/signal_samples.h"

namespace gpuscaler {
namespace {

// Returns when the requests of a departed engine count as none: they had not moved for long enough
// while it was listed, and GPUs that may have been its own were idle. By now other engines may have
// these.
absl::Time DepartedFrozenAt(const EngineScope& scope, const SignalSeries& engine, bool has_owner) {
  const absl::Time read_at = LastReadAt(engine);
  if (StalledAt(scope.trigger, engine) > read_at) return absl::InfiniteFuture();
  absl::Time at = absl::InfinitePast();
  for (const Replica& replica : scope.workload_replicas.replicas) {
    const bool may_be_own =
        has_owner ? scope.IsOf(engine, replica) : !scope.by_owner || !scope.HasAddress(replica);
    const bool was_there = replica.samples.front().at <= read_at;
    if (may_be_own && was_there) {
      at = std::max(at, FrozenAt(scope.trigger, engine, replica, read_at));
    }
  }
  return at == absl::InfinitePast() ? absl::InfiniteFuture() : at;
}

}  // namespace

DepartedEngines::DepartedEngines(const EngineScope& scope) {
  const Replicas& all = scope.workload_replicas;
  for (const SignalSeries& engine : scope.signals.departed) {
    const std::optional<size_t> owner = scope.OwnerOf(engine);
    if (!owner && !scope.CountsUnmatched()) continue;
    Replica replica{.name = engine.name, .started_at = engine.first_read_at};
    if (scope.IsKnownBefore(engine.first_read_at)) replica.counted_since = engine.first_read_at;
    if (owner) {
      replica.name = all.replicas[*owner].name;
      replica.ending_since = all.replicas[*owner].ending_since;
    }
    replica.by_engine = true;
    replica.covered_since = std::min(scope.signals.read_since, scope.now);
    ObservedSeries observed{.series = &engine, .shared_limit = all.batch_limit};
    const absl::Time frozen_at = DepartedFrozenAt(scope, engine, owner.has_value());
    if (frozen_at <= scope.now) {
      observed.frozen_since = *engine.unchanged_since;
    } else {
      replica.frozen_at = frozen_at;
    }
    replica.samples =
        SamplesOf(scope.trigger, {&observed, 1}, all.oldest, scope.now, scope.stale_after);
    DropSamplesAfter(LastReadAt(engine), replica.samples);
    if (owner) CopyGpuActivity(all.replicas[*owner].samples, replica.samples);
    if (!owner) unmatched_read_at.push_back(LastReadAt(engine));
    if (!replica.samples.empty()) replicas.push_back(std::move(replica));
  }
}

void AddDeparted(const EngineScope& scope, WorkloadEngines& engines) {
  const auto is_of_workload = [&scope](const SignalSeries& engine) {
    return scope.IsOfWorkload(engine);
  };
  std::vector<const Pod*> past;
  if (scope.by_owner && !std::ranges::all_of(scope.signals.departed, is_of_workload)) {
    past = PastPodsOf(scope.trigger, scope.inputs.scaled_object, scope.inputs.fleet);
  }
  for (const SignalSeries& engine : scope.signals.departed) {
    const auto is_in_pod = [&engine](const Pod* pod) { return IsInPod(engine, *pod); };
    if (is_of_workload(engine) || std::ranges::any_of(past, is_in_pod)) engines.AddDeparted(engine);
  }
}

}  // namespace gpuscaler
