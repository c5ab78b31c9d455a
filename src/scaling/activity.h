// Whether the workload is to have any replica: IsActive.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/node_snapshot.h"
#include "scaling/replica_load.h"
#include "scaling/trigger.h"

namespace gpuscaler {

struct Activity {
  bool active;
  std::string because;
};

// Active: a replica, present or gone, above activationThreshold within activationWindow, strictly;
// one that cannot be read; one that warms up. Inactive needs evidence: with replicas, samples that
// cover activationWindow; KEDA goes from N to 0 at once, without cooldown, on the first inactive
// answer after an outage. `loads` are the replicas seen within activationWindow.
Activity ActivityOf(const Trigger& trigger, const std::vector<ReplicaLoad>& loads,
                    absl::Duration covered);

// How far back from the newest snapshot they reach without a gap longer than stale_after.
absl::Duration CoveredTime(const NodeHistory& history, absl::Duration stale_after);

}  // namespace gpuscaler
