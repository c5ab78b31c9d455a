// A trigger and limits for tests of decisions.
#pragma once

#include "absl/time/time.h"
#include "model/staleness_limits.h"
#include "trigger/trigger.h"

namespace gpuscaler {

constexpr StalenessLimits kStaleness{.stale_after = absl::Seconds(6), .grace = absl::Seconds(15)};
constexpr absl::Duration kLong = absl::Minutes(5);  // longer than every window

inline Trigger Utilization(double target = 80) {
  Trigger trigger;
  trigger.target = target;
  return trigger;
}

}  // namespace gpuscaler
