// Until when a decision stays right while nothing new is heard: time alone lets readings leave
// windows, grow stale and replicas get warm.
#pragma once

#include <algorithm>
#include <vector>

#include "absl/time/time.h"
#include "model/fleet_history.h"
#include "scaling/node_view.h"
#include "scaling/replica.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// The first of many instants from `now` on.
class NextChange {
 public:
  explicit NextChange(absl::Time now) : now_(now) {}

  // Something is compared with `at`: it may turn out otherwise from there on, or right behind it.
  void Crosses(absl::Time at) {
    if (at >= now_) until_ = std::min(until_, std::max(at, now_ + kInstant));
  }
  // Something is another with every instant.
  void Moves() { until_ = now_ + kInstant; }

  absl::Time until() const { return until_; }  // InfiniteFuture: time changes nothing

 private:
  static constexpr absl::Duration kInstant = absl::Nanoseconds(1);  // clocks count in these

  absl::Time now_;
  absl::Time until_ = absl::InfiniteFuture();
};

struct Validity {
  absl::Time activity;  // of the status, and of what is active
  absl::Time value;     // of all; never later
  // Of the activity too, while each node goes on to find its GPUs as they are: no reading that is
  // the newest now grows stale. Never earlier.
  absl::Time while_read;
};

// Sound, not exact: nothing changes before, and most often nothing does then. A steady workload's
// answer lasts until its readings are stale, one that is not known to be any lasts for ever, and an
// average over readings that differ is another at every instant.
Validity ValidityOf(const Trigger& trigger, const FleetHistory& fleet,
                    const std::vector<Replica>& replicas, const StalenessLimits& staleness);

}  // namespace gpuscaler
