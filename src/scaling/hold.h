// The lower bound of the value while replicas start or end, so that a rollout does not scale
// (docs/kubernetes.md).
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "scaling/replica_load.h"
#include "scaling/replicas.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// How much of the time before a start determines the lower bound.
constexpr absl::Duration kHoldLookBack = absl::Minutes(5);

struct ValueHold {
  double lower_bound = 0;  // limits the sum of all loads, which is the value for AverageValue
  std::string reason;      // empty: there is no lower bound
  // How much history the decision needs.
  absl::Duration look_back;
};

// Returns the lower bound of the value while replicas start or end, and the reason.
//
// While a replica starts, it is the highest sum of loads in the 5 minutes before the start was
// first seen. Time without a counted replica is skipped.
// - If the 5 minutes are older than the history, it is the highest sum in the history's oldest 5
//   minutes.
// - If no replica was ever counted, it is the target for each replica that is counted or starts.
// - If no replica is counted and some terminate, it is the highest sum in the 5 minutes before
//   `now`.
//
// If the demand at the end of the 5 minutes is known, it replaces the sum: the bound is then the
// target for each replica that requests needed. If that demand is below 75 % of the highest at the
// begin, middle and end of the 5 minutes, the highest applies, because requests may have stopped
// for lack of replicas.
//
// Requires `replicas` with all samples that are kept, and `loads` within activationWindow.
ValueHold HoldOf(const Trigger& trigger, const Replicas& replicas,
                 const std::vector<ReplicaLoad>& loads, absl::Time now);

}  // namespace gpuscaler
