// Engines of a workload that are listed no more.
#pragma once

#include <vector>

#include "absl/time/time.h"
#include "scaling/engine_scope.h"
#include "scaling/replica.h"
#include "scaling/workload_engines.h"

namespace gpuscaler {

// A replica for each departed engine. Its load until it was last read counts for activity alone, as
// that of pods that are gone. Its pod may be there yet: an engine that ends is listed for a while
// after it stopped answering.
struct DepartedEngines {
  explicit DepartedEngines(const EngineScope& scope);

  std::vector<Replica> replicas;
  std::vector<absl::Time> unmatched_read_at;  // the last reading of each that is of no known pod
};

// Adds what they showed of the workload's capacity. Replicas reach back as far as the trigger
// looks, and pods to the end of the history: a departed engine counts while its successors start.
void AddDeparted(const EngineScope& scope, WorkloadEngines& engines);

}  // namespace gpuscaler
