// Replicas by owners: pods, or groups of pods, that hold GPUs.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scaling/replicas.h"
#include "scaling/workload_pods.h"

namespace gpuscaler {

// Returns a replica for each pod with GPUs. If the owner forms groups (LeaderWorkerSet), each group
// is one replica, also on several nodes. A replica has its share of the GPUs that it holds. Only
// pods that the ScaledObject may see count. Samples reach back to `oldest`.
absl::StatusOr<Replicas> ReplicasOfPods(const DecisionInputs& inputs, absl::Time oldest);

// FAILED_PRECONDITION: see SelectPods().
absl::StatusOr<PodSelection> SelectionOf(const Trigger& trigger,
                                         const ScaledObjectRef& scaled_object,
                                         const FleetHistory& fleet);

// The past is the last 15 minutes. A pod may occur several times. Empty if SelectPods() fails.
std::vector<const Pod*> PastPodsOf(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                                   const FleetHistory& fleet);

// Empty: the holders of the node's GPUs are known.
std::string WhyOwnersUnknown(const NodeState& state);

}  // namespace gpuscaler
