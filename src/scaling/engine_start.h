// When a replica has started, by its engine.
//
// The results must not depend on when this aggregator began to read: two aggregators that are asked
// side by side return the same.
#pragma once

#include "absl/time/time.h"
#include "scaling/engine_scope.h"
#include "scaling/replica.h"

namespace gpuscaler {

// Returns when an engine of the workload that is listed no more was last read. InfinitePast: never.
absl::Time LastReadOfDeparted(const EngineScope& scope);

// If all replicas began after `last_read` and may not have started yet, no engine can be read:
// returns when the longest start ends. Otherwise InfinitePast.
absl::Time AllStartUntil(const EngineScope& scope, absl::Time last_read);

// Returns whether an engine that is listed no more was the replica's, and was read.
bool HasServed(const EngineScope& scope, const Replica& replica);

// Sets `warm_at`, `counted_since` and `ending_since` of a replica with these engines.
// `answers_since`: the earliest of theirs; InfiniteFuture: none has answered.
void SetStart(const EngineScope& scope, const EngineOwners::Engines& engines,
              absl::Time answers_since, Replica& replica);

}  // namespace gpuscaler
