// Whether a trigger is active: KEDA's IsActive.
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

// Returns active if a replica, present or gone, was strictly above activationThreshold within
// activationWindow. A replica that cannot be read, or warms up, also keeps the trigger active. So
// does one that terminates, if it was active when its deletion began. Returns inactive only on
// evidence: if there are replicas, samples of their nodes must cover activationWindow. KEDA goes
// from N to 0 at once, without cooldown, on the first inactive answer after an outage. `loads` are
// the replicas within activationWindow.
Activity ActivityOf(const Trigger& trigger, const std::vector<ReplicaLoad>& loads, absl::Time now);

// See Decision::evidence_until. A reading is valid for stale_after, so the newest may be that old.
absl::Time EvidenceUntil(const Trigger& trigger, const std::vector<ReplicaLoad>& loads,
                         const StalenessLimits& staleness);

}  // namespace gpuscaler
