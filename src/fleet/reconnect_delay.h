// The delay before the next call to an agent: exponential backoff with jitter.
#pragma once

#include "absl/time/time.h"

namespace gpuscaler {

// The delay after `failures` in a row is 1 s to 10 s. `random` is 0 to 1.
absl::Duration ReconnectDelay(int failures, double random);
absl::Duration ReconnectDelay(int failures);  // with a random number

}  // namespace gpuscaler
