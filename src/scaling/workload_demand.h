// The demand of a workload: the requests that arrive at its engines, as a number of replicas.
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "engine/demand.h"
#include "engine/latency_demand.h"
#include "scaling/decision.h"
#include "scaling/replicas.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// The end of an explanation's line about a demand that is computed but does not count.
inline constexpr char kObserved[] = " (demand: observe: it does not count)";

// Empty if the trigger does not compute the demand, or no engine reports the metrics for it. The
// result depends on readings only: time alone does not change it.
std::optional<Demand> DemandOfWorkload(const Trigger& trigger, const Replicas& replicas);

// Uses the capacity that is known now. Empty: not known.
std::optional<double> DemandAt(const Trigger& trigger, const Replicas& replicas, absl::Time at);

// Empty if the trigger has no ttftSloMs, or first tokens were in time. The result depends on
// readings only.
std::optional<LatencyDemand> LatencyDemandOfWorkload(const Trigger& trigger,
                                                     const Replicas& replicas);

// Requires a decision by demand. Adds to the demand one replica for each unreadable replica that it
// does not include.
double ReplicasNeeded(const Decision& decision);

// Returns the value of a decision by demand: the target for each needed replica. The value by
// pressure can raise it to 1.25 times what arrivals need without the backlog.
double ValueWithDemand(const Trigger& trigger, double pressure_value, const Decision& decision);

// Returns the value of `replicas` replicas at the target, for the trigger's target type.
double ValueOfReplicas(const Trigger& trigger, double replicas, const Decision& decision);

// Returns the demand for people, and whether it is the value: one line, without a newline. Requires
// the decision's demand and replicas.
std::string DemandNote(const Trigger& trigger, const Decision& decision);

}  // namespace gpuscaler
