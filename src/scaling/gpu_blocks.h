// Replicas without known owners: blocks of GPUs in use.
#pragma once

#include "absl/status/statusor.h"
#include "scaling/replicas.h"

namespace gpuscaler {

// Returns a replica for each block of gpusPerReplica GPUs, in index order of a node, with a GPU in
// use. A new holder of the same GPUs is a new replica.
absl::StatusOr<Replicas> ReplicasInUse(const DecisionInputs& inputs);

}  // namespace gpuscaler
