// When a replica has started, as its engine shows it.
//
// Results do not depend on when this aggregator began to read, so that two aggregators return the
// same.
#pragma once

#include "absl/time/time.h"
#include "scaling/engine_scope.h"
#include "scaling/replica.h"

namespace gpuscaler {

// InfinitePast: no departed engine of the workload was ever read.
absl::Time LastReadOfDeparted(const EngineScope& scope);

// Returns when the longest start ends, if all replicas began after `last_read` and may still start,
// so that no engine is readable yet. Otherwise returns InfinitePast.
absl::Time AllStartUntil(const EngineScope& scope, absl::Time last_read);

// Returns whether a departed engine belonged to the replica and was read.
bool HasServed(const EngineScope& scope, const Replica& replica);

// Sets `warm_at`, `counted_since` and `ending_since` of a replica with these engines.
// `first_read_at` is the earliest of theirs; InfiniteFuture: none has answered.
void SetStart(const EngineScope& scope, const EngineScope::Engines& engines,
              absl::Time first_read_at, Replica& replica);

}  // namespace gpuscaler
