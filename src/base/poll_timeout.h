// Timeouts of poll(2) and epoll_wait(2).
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace gpuscaler {

// The result is a minute at most. Rounds up, because a caller would otherwise spin through the last
// millisecond.
inline int MillisecondsForPoll(absl::Duration wait) {
  const absl::Duration rounded = absl::Ceil(wait, absl::Milliseconds(1));
  return static_cast<int>(std::clamp<int64_t>(absl::ToInt64Milliseconds(rounded), 0, 60'000));
}

}  // namespace gpuscaler
