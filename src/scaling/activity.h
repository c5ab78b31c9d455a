// Whether a trigger is active: KEDA's IsActive.
#pragma once

#include <vector>

#include "scaling/decision.h"
#include "scaling/replica_load.h"

namespace gpuscaler {

// Sets whether the trigger is active, why, and until when that is certain. `loads` are the replicas
// within activationWindow.
//
// It is active if a replica, present or gone, was strictly above activationThreshold within
// activationWindow. A replica that cannot be read, or is starting, also keeps the trigger active.
// So does one that terminates, if it was active when its deletion began. It is inactive only on
// evidence: if there are replicas, samples of their nodes must cover activationWindow. KEDA goes
// from N to 0 at once, without cooldown, on the first inactive answer after an outage.
void SetActivity(const DecisionInputs& inputs, const std::vector<ReplicaLoad>& loads,
                 Decision& decision);

}  // namespace gpuscaler
