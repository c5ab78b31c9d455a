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

// All references must outlive it. `workload_replicas` begin with their GPU readings;
// EngineReadingsApplier replaces these by those of their engines, one replica after the other.
struct EngineScope {
  const DecisionInputs& inputs;  // with signals
  const bool by_owner;           // false: the owners of GPUs are not known
  const Replicas& workload_replicas;

  // The following are computed.
  const Trigger& trigger = inputs.trigger;
  const SignalHistory& signals = *inputs.signals;
  const absl::Time now = inputs.fleet.now;
  const absl::Duration stale_after = inputs.staleness.stale_after;
  const bool endpoint_is_named = !trigger.engine_endpoint.url.empty();
  const EngineOwners owners =
      EngineOwners(trigger, inputs.fleet, by_owner, signals, workload_replicas.replicas);
  const std::vector<const SignalSeries*> records = Records();

  // Returns whether engines were read for longer than stale_after before `at`.
  bool IsKnownBefore(absl::Time at) const { return at > signals.read_since + stale_after; }

  // Returns the capacity records of the workload's engines. If owners are not known or the endpoint
  // is named, these are the records of all engines. If the workload has no pods, it is selected
  // among their owners.
  std::vector<const SignalSeries*> Records() const;
};

}  // namespace gpuscaler
