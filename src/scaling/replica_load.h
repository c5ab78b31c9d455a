// What one replica is worth to the value, and why.
#pragma once

#include "absl/time/time.h"
#include "scaling/decision.h"
#include "scaling/replica.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// A start that takes longer than any does keeps nothing active (DESIGN 2).
constexpr absl::Duration kLongestStart = absl::Minutes(30);

struct ReplicaLoad {
  Contribution contribution;
  bool above_threshold = false;  // one of its samples within activationWindow
  bool active = false;           // that, or its engine served somebody then, however few
  absl::Time active_at = absl::InfinitePast();  // the newest of those
  // Its readings cover activationWindow, or all its time behind the warm-up: only then is its
  // silence evidence of idleness.
  bool covered = false;
  bool starts = false;              // warming, and for no longer than a start may take
  bool saturation_unknown = false;  // standing VRAM, and no engine tells how full it is
  absl::Time frozen_at = absl::InfiniteFuture();  // Replica::frozen_at
  absl::Time covered_since;                       // of its nodes, the latest (NodeView)
};

// A replica that has gone is valued by the state in which it was last seen, and counts for activity
// only.
ReplicaLoad LoadOf(const Trigger& trigger, const Replica& replica, absl::Time now,
                   const StalenessLimits& staleness);

}  // namespace gpuscaler
