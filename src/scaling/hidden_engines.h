// Engines that nobody knows of, where GPUs in use tell that there may be some.
#pragma once

#include "absl/status/status.h"
#include "model/fleet_history.h"
#include "model/signal_history.h"
#include "scaling/workload_pods.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Without owners a GPU in use is all that tells of a replica. UNAVAILABLE: one is in use, and none
// of the engines that the trigger reads is known: its endpoint has no address, or none is found
// where it is looked for; that is unknown, and not none. A GPU of pods that the ScaledObject may
// not see hides none of those that are looked for.
absl::Status CheckNoneIsHidden(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                               const FleetHistory& fleet, const SignalHistory& signals);

}  // namespace gpuscaler
