// The demand of a workload: the requests that arrive at its engines, in replicas.
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "demand/demand.h"
#include "demand/latency_ask.h"
#include "scaling/decision.h"
#include "scaling/replicas.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// After a line of an explanation.
inline constexpr char kObserved[] = " (demand: observe: it does not count)";

// Empty: the trigger does not compute it, or no engine reports what it takes. The result follows
// from what the engines have reported: time alone does not change it.
std::optional<Demand> DemandOfWorkload(const Trigger& trigger, const Replicas& replicas);

// The demand that there was at an earlier time, by the capacity that is known now. Empty: it is not
// known.
std::optional<double> DemandAt(const Trigger& trigger, const Replicas& replicas, absl::Time at);

// Empty: the trigger has no ttftSloMs, or the first tokens were in time. It follows from what the
// engines have reported, as the demand.
std::optional<LatencyAsk> LatencyAskOfWorkload(const Trigger& trigger, const Replicas& replicas);

// The replicas that a decision by demand needs: the demand, and one for each unreadable replica
// without an engine in it.
double ReplicasNeeded(const Decision& decision);

// The value of a decision by demand: the target per replica that is needed, raised by the value of
// the pressure to at most 1.25 times what the arrivals need without the backlog.
double ValueWithDemand(const Trigger& trigger, double pressure_value, const Decision& decision);

// The value of so many replicas at the target, as the trigger's target type has it.
double ValueOfReplicas(const Trigger& trigger, double replicas, const Decision& decision);

// Whether the demand is the value, and why not, for people: a line without its end.
std::string DemandNote(const Trigger& trigger, const std::optional<Demand>& demand);

}  // namespace gpuscaler
