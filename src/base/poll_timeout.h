// How long poll(2) and its kin are to wait.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace gpuscaler {

// Rounded up: they would else return for nothing until the time has come. A minute at most.
inline int MillisecondsForPoll(absl::Duration wait) {
  const absl::Duration rounded = absl::Ceil(wait, absl::Milliseconds(1));
  return static_cast<int>(std::clamp<int64_t>(absl::ToInt64Milliseconds(rounded), 0, 60'000));
}

}  // namespace gpuscaler
