// Whether enough GPUs are free for the replicas that a decision asks for.
#pragma once

#include <string>

#include "model/fleet_history.h"
#include "scaling/decision.h"
#include "scaling/node_view.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Returns true if the decision asks for more replicas than there are. Terminating ones are not
// counted: their GPUs will be free soon.
bool AsksForMoreReplicas(const Trigger& trigger, const Decision& decision);

// Returns one sentence if the decision asks for more replicas than fit into the free GPUs of all
// nodes: "2 more replicas of 4 linked GPUs are requested, and there is room for 1: 8 free in
// 1+1+2+4". Empty if they fit, or if the size of a replica is not known. The decision does not
// change.
//
// A new replica is assumed to need as many whole GPUs as the smallest present one, of whatever
// model. They must be linked if those of each present pod with several GPUs are.
std::string WhyNoRoom(const Trigger& trigger, const Decision& decision, const FleetHistory& fleet,
                      const StalenessLimits& staleness);

}  // namespace gpuscaler
