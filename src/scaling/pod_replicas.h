// Replicas by owners.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "scaling/population.h"
#include "scaling/workload_pods.h"

namespace gpuscaler {

// A pod with GPUs is a replica, or a group of pods where its owner makes one of them (a group of a
// LeaderWorkerSet), be they on several nodes; each with its share of the GPUs that it holds. Only
// pods that the asker may see are looked at.
absl::StatusOr<Population> ReplicasOfPods(const Trigger& trigger, const Asker& asker,
                                          const FleetHistory& fleet, const Patience& patience);

// Which pods these are. FAILED_PRECONDITION: SelectPods()'s.
absl::StatusOr<PodSelection> SelectionOf(const Trigger& trigger, const Asker& asker,
                                         const FleetHistory& fleet);

// Why it is not known who holds the node's GPUs; empty: it is.
std::string WhyOwnersUnknown(const NodeTrack& track);

}  // namespace gpuscaler
