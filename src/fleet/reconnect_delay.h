// How soon an agent is called again.
#pragma once

#include "absl/time/time.h"

namespace gpuscaler {

// How long to wait after so many failures in a row, 1 s to 10 s; `random` is 0 to 1.
absl::Duration ReconnectDelay(int failures, double random);
absl::Duration ReconnectDelay(int failures);  // at random

}  // namespace gpuscaler
