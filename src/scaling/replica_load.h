// The part of the value from one replica, and the reason.
#pragma once

#include <vector>

#include "absl/time/time.h"
#include "scaling/decision.h"
#include "scaling/load_rule.h"
#include "scaling/replica.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// A replica that starts for longer does not keep the trigger active.
constexpr absl::Duration kLongestStart = absl::Minutes(30);

struct ReplicaLoad {
  const Replica* replica = nullptr;
  Contribution contribution;
  LoadRule load_rule = LoadRule::kMetric;
  double past_load = 0;          // added by its past within the window, if it is no longer counted
  bool above_threshold = false;  // one of its samples within activationWindow was
  bool active = false;           // above_threshold, or its engine served any request then
  absl::Time active_at = absl::InfinitePast();  // the newest sample that makes it active
  // Its readings cover activationWindow, or all its time after its start. Only then is the
  // absence of load evidence of idleness.
  bool covered = false;
  bool starts = false;  // starting, and within kLongestStart; if it takes longer it adds nothing
};

// The past of a replica that is gone counts in the mean over `window`, and for activity. If the
// trigger evaluates preallocated memory, utilization or activity counts in place of its memory,
// which it may have freed before it left. A replica that terminates keeps the trigger active if it
// was active when its deletion began.
ReplicaLoad LoadOf(const Trigger& trigger, const Replica& replica, absl::Time now,
                   const StalenessLimits& staleness);

// Returns what a replica that is no longer counted adds to the mean over `window`.
double PastLoadOf(const Trigger& trigger, const Replica& replica, absl::Time now);

// Limits replicas with LoadRule::kNotEvaluated to the mean of the others at the same time.
void LimitNotEvaluated(const Trigger& trigger, absl::Time now, std::vector<ReplicaLoad>& loads);

}  // namespace gpuscaler
