// Replicas as their inference engines report them.
#pragma once

#include "absl/status/status.h"
#include "model/signal_history.h"
#include "scaling/replicas.h"
#include "scaling/workload_pods.h"

namespace gpuscaler {

// Replaces the GPU samples of each replica with the readings of its engines in `signals`. Requires
// a trigger that counts engine metrics or pressure.
//
// Matching: an engine belongs to the replica of its pod, found by name or address. An unmatched
// engine is a replica of its own if the endpoint is named or owners are not known.
//
// Start: a replica is starting until its pod is Ready or its engine answers; if readiness is not
// known, for warmupSeconds at most (exceptions: engine_start.cc). Then, without readings, it is
// unreadable. A pod that a headless Service omits while it lists others is starting too, unless it
// is known to be Ready and not terminating.
//
// Departed engines: their readings count for activity within activationWindow, as those of departed
// replicas, because DNS may omit an address for a moment. Their earlier load still counts in the
// mean over `window`. A frozen engine stays frozen.
//
// Fallback: if no engine of a trigger on pressure was read for --forget-after, GPU readings count
// (engineFallback).
//
// If owners are not known, sets `zero_status` of `workload_replicas` to CheckNoneIsHidden()
// (unreadable_engines.h).
//
// Returns the error of `signals` if the workload may have replicas that engines would show. Returns
// FAILED_PRECONDITION if the endpoint is one address in front of several pods, or if no engine in
// scope ever reports the metric.
absl::Status ApplyEngineReadings(const DecisionInputs& inputs, Replicas& workload_replicas);

}  // namespace gpuscaler
