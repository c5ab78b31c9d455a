// The least value while replicas start or end, so that a rollout moves nothing (DESIGN 2, Hold).
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "scaling/replica_load.h"
#include "scaling/replicas.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// How much of the time before a start holds.
constexpr absl::Duration kHeldFrom = absl::Minutes(5);

struct Hold {
  // The least sum of all loads: V for AverageValue.
  double least = 0;
  std::string because;  // empty: nothing holds
  // The past that the decision needs.
  absl::Duration look_back;
};

// While a replica starts, the least is the highest sum, computed without a hold, of the last 5
// minutes in which a replica was counted and before the start was first seen. If no replica was
// counted then, the least is the target for each that is counted or starts. If the past before the
// start is not kept, the oldest 5 minutes that are kept hold. The same holds while no replica is
// counted and some terminate.
//
// By demand, the least is the target for each replica that the requests needed just before, or in
// those 5 minutes if they stopped within them.
//
// Requires `replicas` with all samples that are kept, and the `loads` of those within
// activationWindow.
Hold HoldOf(const Trigger& trigger, const Replicas& replicas, const std::vector<ReplicaLoad>& loads,
            absl::Time now);

}  // namespace gpuscaler
