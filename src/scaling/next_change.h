// How long a decision stays right without new readings. Time alone makes readings leave windows and
// grow stale, and starts end.
#pragma once

#include <algorithm>
#include <vector>

#include "absl/time/time.h"
#include "model/fleet_history.h"
#include "scaling/decision.h"
#include "scaling/replica.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// The earliest of several times, from `now` on, at which a result may change. Not thread-safe.
class NextChange {
 public:
  explicit NextChange(absl::Time now) : now_(now) {}

  // Adds a time: the result of a comparison with `at` may change at that instant, or right after
  // it.
  void MayChangeAt(absl::Time at) {
    if (at >= now_) until_ = std::min(until_, std::max(at, now_ + kInstant));
  }
  // A value changes at every instant.
  void ChangesConstantly() { until_ = now_ + kInstant; }

  absl::Time until() const { return until_; }  // InfiniteFuture: time changes nothing

 private:
  static constexpr absl::Duration kInstant = absl::Nanoseconds(1);  // the resolution of all clocks

  absl::Time now_;
  absl::Time until_ = absl::InfiniteFuture();
};

// Sets `valid_until`, `active_until` and `active_while_read` to lower bounds: the decision cannot
// change before them, and usually does not change at them. The decision on a steady workload lasts
// until its readings are stale, and one without any reading lasts for ever. An average over
// readings that differ changes at every instant.
void SetValidUntil(const Trigger& trigger, const FleetHistory& fleet,
                   const std::vector<Replica>& replicas, const StalenessLimits& staleness,
                   Decision& decision);

}  // namespace gpuscaler
