// Replicas by owners.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scaling/replicas.h"
#include "scaling/workload_pods.h"

namespace gpuscaler {

// A pod with GPUs is a replica, or a group of pods where its owner makes one of them (a group of a
// LeaderWorkerSet), be they on several nodes; each with its share of the GPUs that it holds. Only
// pods that the ScaledObject may see are looked at. Samples reach back to `oldest`.
absl::StatusOr<Replicas> ReplicasOfPods(const Trigger& trigger,
                                        const ScaledObjectRef& scaled_object,
                                        const FleetHistory& fleet, const StalenessLimits& staleness,
                                        absl::Time oldest);

// Which pods these are. FAILED_PRECONDITION: SelectPods()'s.
absl::StatusOr<PodSelection> SelectionOf(const Trigger& trigger,
                                         const ScaledObjectRef& scaled_object,
                                         const FleetHistory& fleet);

// The workload's pods of the last 15 minutes, each maybe several times. Empty if SelectPods()
// fails.
std::vector<const Pod*> PastPodsOf(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                                   const FleetHistory& fleet);

// Why it is not known who holds the node's GPUs; empty: it is.
std::string WhyOwnersUnknown(const NodeState& state);

}  // namespace gpuscaler
