// Timeouts that determine which agents and readings count.
#pragma once

#include "absl/time/time.h"

namespace gpuscaler {

// An agent without a message for this long counts as disconnected: two heartbeats
// (telemetry_service.h) and a margin. It must be shorter than any --stale-after, so that --grace
// begins before the readings are stale, and no longer than any --grace.
constexpr absl::Duration kQuiet = absl::Seconds(4);

struct FleetTimeouts {
  absl::Duration grace = absl::Seconds(15);        // --grace
  absl::Duration forget_after = absl::Minutes(5);  // --forget-after
  // --empty-after: how long DNS must list no agent before the fleet counts as empty.
  absl::Duration empty_after = absl::Minutes(1);
  absl::Duration stale_after = absl::InfiniteDuration();  // --stale-after: of a node's readings
};

}  // namespace gpuscaler
