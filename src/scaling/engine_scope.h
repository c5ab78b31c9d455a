// The engines of one workload, and the readings of them that a decision uses.
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

// All constructor arguments must outlive it. `workload_replicas` begin with their GPU readings;
// EngineReadingsApplier replaces these by those of their engines, one replica after the other.
struct EngineScope {
  EngineScope(const Trigger& trigger, const ScaledObjectRef& scaled_object,
              const FleetHistory& fleet, bool by_owner, const SignalHistory& signals,
              const StalenessLimits& staleness, const Replicas& workload_replicas);

  // Returns whether engines were read for longer than stale_after before `at`.
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
  // Capacity records of the workload's engines. If owners are not known or the endpoint is named,
  // these are the records of all engines. If the workload has no pods, it is selected among their
  // owners.
  const std::vector<const SignalSeries*> records;
};

}  // namespace gpuscaler
