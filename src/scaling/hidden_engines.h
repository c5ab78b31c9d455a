// Detects engines that are not known but may exist, because GPUs are in use.
#pragma once

#include "absl/status/status.h"
#include "model/fleet_history.h"
#include "model/signal_history.h"
#include "scaling/workload_pods.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Without owners, a GPU in use is the only sign of a replica. Returns UNAVAILABLE if one is in use
// and no engine of the trigger is known: its endpoint has no address, or none is found. That is
// unknown, not zero. Unless the endpoint is named, GPUs of pods that the ScaledObject may not see
// do not count.
absl::Status CheckNoneIsHidden(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                               const FleetHistory& fleet, const SignalHistory& signals);

}  // namespace gpuscaler
