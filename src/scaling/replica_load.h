// What one replica is worth to the value, and why.
#pragma once

#include "absl/time/time.h"
#include "scaling/decision.h"
#include "scaling/replica.h"
#include "scaling/trigger.h"

namespace gpuscaler {

// What there is to judge a replica by.
struct Evidence {
  absl::Time now;  // of the newest snapshot
  absl::Time
      since;  // from there on snapshots follow each other without a gap longer than stale_after
  absl::Duration stale_after;  // the age at which a reading no longer speaks for its GPU
};

struct ReplicaLoad {
  ReplicaShare share;
  bool above_threshold = false;  // one of its samples within activationWindow
  // Its readings cover activationWindow, or all its time behind the warm-up: only then is its
  // silence evidence of idleness.
  bool covered = false;
  bool saturation_unknown = false;  // standing VRAM, and no engine tells how full it is
};

// A replica that has gone is valued by the state in which it was last seen, and counts for activity
// only.
ReplicaLoad LoadOf(const Trigger& trigger, const Replica& replica, const Evidence& evidence);

}  // namespace gpuscaler
