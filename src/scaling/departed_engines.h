// Engines of a workload that are no longer listed.
#pragma once

#include <vector>

#include "absl/time/time.h"
#include "scaling/engine_scope.h"
#include "scaling/replica.h"
#include "scaling/workload_engines.h"

namespace gpuscaler {

// A replica for each departed engine. Its load up to its last reading counts for activity and in
// the mean over `window`, as that of deleted pods. Its pod may still exist: an engine that ends
// stays listed for a while after it stopped answering.
struct DepartedEngines {
  explicit DepartedEngines(const EngineScope& scope);

  std::vector<Replica> replicas;
  std::vector<absl::Time> unmatched_read_at;  // when each engine of no known pod was last read
};

// Adds the departed engines, which show the workload's capacity while their successors start. An
// engine is included if it belongs to a replica, or to a pod that the workload had at any time in
// the history. Replicas alone would not do: they reach back only as far as the trigger looks.
void AddDeparted(const EngineScope& scope, WorkloadEngines& engines);

}  // namespace gpuscaler
