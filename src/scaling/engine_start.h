// When a replica has started, as its engine shows it.
//
// Results do not depend on when this aggregator began to read, so all aggregators get the same.
#pragma once

#include "absl/time/time.h"
#include "scaling/engine_scope.h"
#include "scaling/replica.h"

namespace gpuscaler {

// InfinitePast: no departed engine of the workload was ever read.
absl::Time LastReadOfDeparted(const EngineScope& scope);

// Returns until when all present replicas may be starting, so that none has a readable engine yet:
// kLongestStart after the newest start. Returns InfinitePast if one of them has held its GPUs since
// before `last_read` or was Ready, or if owners are not known.
absl::Time AllStartUntil(const EngineScope& scope, absl::Time last_read);

// Returns whether a departed engine belonged to the replica and was read.
bool HasServed(const EngineScope& scope, const Replica& replica);

// Sets `started_at`, `counted_since` and `ending_since` of a replica with these engines.
// `first_read_at` is the earliest of theirs; InfiniteFuture: none has answered.
void SetStart(const EngineScope& scope, const EngineScope::Engines& engines,
              absl::Time first_read_at, Replica& replica);

}  // namespace gpuscaler
