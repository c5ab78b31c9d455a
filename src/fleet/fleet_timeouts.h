// The options of time that decide which agents and readings count.
#pragma once

#include "absl/time/time.h"

namespace gpuscaler {

// An agent without a message for this long is idle: two heartbeats (telemetry_service.h) and a
// little. It is less than the shortest --stale-after, so that the agent gets grace before its
// readings are stale. No --grace is shorter.
constexpr absl::Duration kQuiet = absl::Seconds(4);

struct FleetTimeouts {
  absl::Duration grace = absl::Seconds(15);               // --grace
  absl::Duration forget_after = absl::Minutes(5);         // --forget-after
  absl::Duration empty_after = absl::Minutes(1);          // --empty-after: until absence counts
  absl::Duration stale_after = absl::InfiniteDuration();  // --stale-after: of a node's readings
};

}  // namespace gpuscaler
