// For how long what was read stands for what is.
#pragma once

#include "absl/time/time.h"

namespace gpuscaler {

struct StalenessLimits {
  absl::Duration stale_after;  // a reading for its GPU
  absl::Duration grace;        // the last snapshot of an agent that is silent, from its last word
  // No engine of a workload was read for so long: it has none to read (--forget-after).
  absl::Duration forget_after = absl::Minutes(5);
};

}  // namespace gpuscaler
