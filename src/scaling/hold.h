// The least value while replicas start or end, so that a rollout does not scale
// (docs/kubernetes.md).
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "scaling/replica_load.h"
#include "scaling/replicas.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// How much of the time before a start counts.
constexpr absl::Duration kHeldFrom = absl::Minutes(5);

struct Hold {
  // The least sum of all loads: V for AverageValue.
  double least = 0;
  std::string because;  // empty: nothing holds
  // How much history the decision needs.
  absl::Duration look_back;
};

// Returns the least value. While a replica starts, that is the highest sum in the 5 minutes before
// the start was first seen. The sum is computed without a hold, and only times with a counted
// replica make up the 5 minutes. If there were none, it is the target for each replica that is
// counted or starts. If that past is not kept, it is the highest sum of the oldest 5 minutes that
// are. The same holds while no replica is counted and some terminate.
//
// By demand, the least is the target for each replica that requests needed just before. If requests
// stopped within those 5 minutes, it is what they needed in that time.
//
// Requires `replicas` with all samples that are kept, and `loads` within activationWindow.
Hold HoldOf(const Trigger& trigger, const Replicas& replicas, const std::vector<ReplicaLoad>& loads,
            absl::Time now);

}  // namespace gpuscaler
