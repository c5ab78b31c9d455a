// Replicas without owners.
#pragma once

#include "absl/status/statusor.h"
#include "scaling/replicas.h"

namespace gpuscaler {

// Blocks of gpusPerReplica GPUs in index order of a node are the replicas; one is there while one
// of its GPUs is in use. A new holder of the same GPUs is a new replica.
absl::StatusOr<Replicas> ReplicasInUse(const Trigger& trigger, const FleetHistory& fleet,
                                       const StalenessLimits& staleness);

}  // namespace gpuscaler
