// Replicas as their inference engines report them.
#pragma once

#include "absl/status/status.h"
#include "model/signal_history.h"
#include "scaling/replicas.h"
#include "scaling/workload_pods.h"

namespace gpuscaler {

// Replaces the GPU readings of each replica by those of its engines in `signals`. Requires a
// trigger on engines, or on their pressure. An engine belongs to a replica by its pod, or by its
// pod's address. An engine without a replica is a replica by itself if its endpoint is named or
// owners are not known.
//
// A replica is warming until its pod is Ready or its engine answers. If readiness is not known, it
// is warming for warmupSeconds at most (exceptions: engine_start.cc). After that, a replica without
// readings is unreadable. A pod that a headless Service omits while it lists others gets no
// requests, and is warming too. Exception: it is known to be Ready and not to terminate.
//
// An engine that is no longer listed counts for activity within activationWindow and adds its past,
// as a replica that is gone: DNS may omit an address for a moment. If it was frozen then, it stays
// so. Pressure: if no engine of the workload, listed or not, was read for --forget-after, the
// replicas keep their GPU readings (engineFallback).
//
// If no engine and no owner is known and GPUs are in use, sets the status of `workload_replicas`
// for that (hidden_engines.h). Returns the status of `signals` if it matters and is not OK. Returns
// FAILED_PRECONDITION if the endpoint is one address in front of several pods, or if no engine in
// scope ever reports the metric. `signals` is null if no engine is read.
absl::Status ReadEnginesOf(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                           const FleetHistory& fleet, bool by_owner, const SignalHistory* signals,
                           const StalenessLimits& staleness, Replicas& workload_replicas);

}  // namespace gpuscaler
