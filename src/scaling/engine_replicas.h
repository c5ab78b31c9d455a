// Replicas as their inference engines tell of them.
#pragma once

#include "absl/status/status.h"
#include "model/signal_history.h"
#include "scaling/replicas.h"
#include "scaling/workload_pods.h"

namespace gpuscaler {

// Of a trigger on engines, or on their pressure: what `signals` say takes the place of what GPUs
// showed, replica by replica. An engine is a replica's by its pod, or by its pod's address; one
// that is nobody's is a replica by itself where its endpoint is named or owners are not known.
//
// A replica is warming until its pod is Ready or its engine answers; where nobody knows whether it
// is Ready, for warmupSeconds at most. One that is silent then is unreadable. One that a headless
// Service does not list while it lists others serves nobody, and is warming as well, unless it is
// known to be Ready and not to end.
// An engine that is listed no more counts for activity alone within activationWindow, as a replica
// that is gone does: a name of DNS may lack it for a moment. What was frozen then stays so.
// Pressure: once none of the workload's engines, be they listed or not, was read for
// --forget-after, the replicas stay what their GPUs show (engineFallback).
//
// Where no engine is known, owners are not either, and GPUs are in use, `population` says so
// (hidden_engines.h). What the history's status says is handed on where it matters.
// FAILED_PRECONDITION: the endpoint is one address in front of several pods, or none of the engines
// in scope ever tells the metric.
// `signals` null: nobody reads them.
absl::Status ReadEnginesOf(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                           const FleetHistory& fleet, bool by_owner, const SignalHistory* signals,
                           const StalenessLimits& staleness, Replicas& workload_replicas);

}  // namespace gpuscaler
