// How long readings and snapshots stay valid.
#pragma once

#include "absl/time/time.h"

namespace gpuscaler {

struct StalenessLimits {
  absl::Duration stale_after;  // age limit of a GPU reading
  // The last snapshot of a disconnected agent counts for this long after its last message.
  absl::Duration grace;
  // A workload has no engines if none was read for this long (--forget-after).
  absl::Duration forget_after = absl::Minutes(5);
};

}  // namespace gpuscaler
