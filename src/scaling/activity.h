// Whether the workload is to have any replica: IsActive.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "scaling/replica_load.h"
#include "trigger/trigger.h"

namespace gpuscaler {

struct Activity {
  bool active;
  std::string because;
};

// Active: a replica, present or gone, above activationThreshold within activationWindow, strictly;
// one that cannot be read; one that warms up; one that terminates, if it was
// active when its deletion began. Inactive needs evidence: with replicas, samples of
// their nodes that cover activationWindow; KEDA goes from N to 0 at once, without cooldown, on the
// first inactive answer after an outage. `loads` are the replicas seen within activationWindow.
Activity ActivityOf(const Trigger& trigger, const std::vector<ReplicaLoad>& loads, absl::Time now);

// Decision::evidence_until. A reading stands for stale_after at most: the newest may be as old as
// that.
absl::Time EvidenceUntil(const Trigger& trigger, const std::vector<ReplicaLoad>& loads,
                         const StalenessLimits& staleness);

}  // namespace gpuscaler
