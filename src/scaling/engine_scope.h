// The engines of one workload and the readings of them that a decision is made from.
#pragma once

#include <vector>

#include "absl/time/time.h"
#include "model/fleet_history.h"
#include "model/signal_history.h"
#include "scaling/engine_owners.h"
#include "scaling/replicas.h"
#include "scaling/workload_pods.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// All arguments of the constructor must outlive it. `workload_replicas` are those that GPUs show,
// until EngineReplicas replaces their load by that of their engines, one after the other.
struct EngineScope {
  EngineScope(const Trigger& trigger, const ScaledObjectRef& scaled_object,
              const FleetHistory& fleet, bool by_owner, const SignalHistory& signals,
              const StalenessLimits& staleness, const Replicas& workload_replicas);

  // Whether engines were read for a while before that.
  bool IsKnownBefore(absl::Time at) const {
    return at > signals.read_since + staleness.stale_after;
  }

  const Trigger& trigger;
  const ScaledObjectRef& scaled_object;
  const FleetHistory& fleet;
  const absl::Time now;
  const bool by_owner;  // false: the owners of GPUs are not known
  const bool endpoint_is_named;
  const SignalHistory& signals;
  const StalenessLimits& staleness;
  const Replicas& workload_replicas;
  const EngineOwners owners;
  // Capacity records of the workload's engines. Without owners, and where the endpoint is named,
  // those of all engines. While the workload has no pods, it is selected among the owners in them.
  const std::vector<const SignalSeries*> records;
};

}  // namespace gpuscaler
