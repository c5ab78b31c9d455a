// What one replica is worth to the value, and why.
#pragma once

#include <vector>

#include "absl/time/time.h"
#include "scaling/decision.h"
#include "scaling/replica.h"
#include "scaling/valuation.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// A start that takes longer than any does keeps nothing active (DESIGN 2).
constexpr absl::Duration kLongestStart = absl::Minutes(30);

struct ReplicaLoad {
  const Replica* replica = nullptr;
  Contribution contribution;
  Valuation valuation = Valuation::kMetric;
  double left = 0;  // added by its past within the window, if it is not counted any more
  bool above_threshold = false;  // one of its samples within activationWindow
  bool active = false;           // that, or its engine served somebody then, however few
  absl::Time active_at = absl::InfinitePast();  // the newest of those
  // Its readings cover activationWindow, or all its time behind the warm-up: only then is its
  // silence evidence of idleness.
  bool covered = false;
  bool starts = false;              // warming, and for no longer than a start may take
  bool start_is_over = false;       // warming, for longer than that: adds nothing any more
  bool saturation_unknown = false;  // standing VRAM, and no engine tells how full it is
  absl::Time frozen_at = absl::InfiniteFuture();  // Replica::frozen_at
  absl::Time covered_since;                       // of its nodes, the latest (NodeView)
};

// A replica that has gone is valued by the state in which it was last seen. Its past counts within
// the window, and for activity. A replica that terminates keeps the trigger active if it was active
// when its deletion began.
ReplicaLoad LoadOf(const Trigger& trigger, const Replica& replica, absl::Time now,
                   const StalenessLimits& staleness);

// The part of a replica that is not counted any more in the mean over `window`.
double LeftOf(const Trigger& trigger, const Replica& replica, Valuation valuation, absl::Time now);

// A replica that is not evaluated counts at most the mean of those that are, at the same time.
void LimitNotEvaluated(const Trigger& trigger, absl::Time now, std::vector<ReplicaLoad>& loads);

}  // namespace gpuscaler
