#include "scaling/engine_start.h"

#include <algorithm>

#include "scaling/replica_load.h"
#include "scaling/signal_samples.h"
#include "scaling/unreadable_engines.h"

namespace gpuscaler {
namespace {

using Engines = EngineScope::Engines;

bool IsReadinessKnown(const Pod* pod) { return pod->ready.has_value() || pod->was_ready; }

// Returns whether it is known when all of its pods became Ready. Agents send that time, so all
// aggregators have the same.
bool BecameReady(const Replica& replica) {
  return replica.started_at != absl::InfinitePast() && !replica.pods.empty() &&
         std::ranges::all_of(replica.pods, IsReadinessKnown);
}

bool AnyEngineWasRead(const EngineScope& scope) {
  return LastReadOfDeparted(scope) != absl::InfinitePast() ||
         std::ranges::any_of(scope.All(), [](const SignalSeries* engine) {
           return LastReadAt(*engine) != absl::InfinitePast();
         });
}

bool HasAnswered(const EngineScope& scope, const Replica& replica) {
  return HasServed(scope, replica) ||
         std::ranges::any_of(scope.records(), [&](const SignalSeries* engine) {
           return scope.IsOf(*engine, replica) && engine->demand->newest_at >= replica.held_since;
         });
}

// Returns whether only its engine can show that it started: readiness is not known, an engine was
// looked for and not found in it, and others of the workload were read.
bool StartsUntilItAnswers(const EngineScope& scope, const Engines& engines,
                          const Replica& replica) {
  if (!scope.by_owner || !engines.empty() || HasAnswered(scope, replica)) return false;
  // An engine listed at an address without a pod may be its own.
  if (scope.endpoint_is_named && !scope.HasAddress(replica)) return false;
  const bool predates_its_agent = replica.started_at == absl::InfinitePast();
  const bool is_ready_known = std::ranges::any_of(replica.pods, IsReadinessKnown);
  return !predates_its_agent && !is_ready_known && AnyEngineWasRead(scope) &&
         AllNodesSearch(replica, scope.signals);
}

// A headless Service lists pods that are Ready and do not terminate. Another pod gets no requests.
// A pod that was Ready and is known not to terminate may get some: a kubelet that restarts reports
// its pods as not Ready for seconds. A single address may be a ClusterIP, behind which all pods
// serve.
bool IsUnlisted(const EngineScope& scope, const Engines& engines, const Replica& replica) {
  return scope.endpoint_is_named && engines.empty() && !scope.signals.series.empty() &&
         !scope.IsOneAddressOfSeveral() && !scope.IsReadyAndNotEnding(replica);
}

// A replica that served before is unlisted because it ends. Its engine counts until then
// (DepartedEngines).
void Unlist(const EngineScope& scope, Replica& replica) {
  const bool was_ready =
      replica.started_at <= scope.now && std::ranges::any_of(replica.pods, IsReadinessKnown);
  if (!HasServed(scope, replica) && !was_ready) {
    replica.started_at = replica.counted_since = absl::InfiniteFuture();
    return;
  }
  replica.ending_since = std::min(replica.ending_since, scope.now);
}

}  // namespace

absl::Time LastReadOfDeparted(const EngineScope& scope) {
  absl::Time last_read = absl::InfinitePast();
  for (const SignalSeries* engine : scope.records()) {
    last_read = std::max(last_read, engine->demand->newest_at);
  }
  for (const SignalSeries& engine : scope.signals.departed) {
    const absl::Time read_at = LastReadAt(engine);
    if (read_at > last_read && scope.IsOfWorkload(engine)) last_read = read_at;
  }
  return last_read;
}

absl::Time AllStartUntil(const EngineScope& scope, absl::Time last_read) {
  absl::Time newest = absl::InfinitePast();
  for (const Replica& replica : scope.workload_replicas.replicas) {
    if (!replica.present) continue;
    if (!scope.by_owner || replica.held_since <= last_read || scope.WasReady(replica)) {
      return absl::InfinitePast();
    }
    newest = std::max(newest, replica.starting_since);
  }
  return newest + kLongestStart;
}

bool HasServed(const EngineScope& scope, const Replica& replica) {
  return std::ranges::any_of(scope.signals.departed, [&](const SignalSeries& engine) {
    return scope.IsOf(engine, replica) && LastReadAt(engine) != absl::InfinitePast();
  });
}

// A pod has no load before it is Ready. If that time is not known, a replica counts since an
// unknown time too, unless its engine was looked for before it started. A pod may be Ready just
// before its engine is first read, so it is starting until that reading is late.
void SetStart(const EngineScope& scope, const Engines& engines, absl::Time first_read_at,
              Replica& replica) {
  const bool is_known = scope.IsKnownBefore(replica.started_at) || BecameReady(replica);
  const bool never_answered = first_read_at == absl::InfiniteFuture();
  if (never_answered) {
    replica.started_at = StartsUntilItAnswers(scope, engines, replica)
                             ? absl::InfiniteFuture()
                             : replica.started_at + scope.stale_after;
  }
  replica.started_at = std::min(replica.started_at, first_read_at);
  replica.counted_since =
      is_known ? std::max(replica.held_since, replica.started_at) : absl::InfinitePast();
  if (IsUnlisted(scope, engines, replica)) Unlist(scope, replica);
}

}  // namespace gpuscaler
