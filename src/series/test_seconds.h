// Times of tests: whole seconds from a beginning of theirs.
#pragma once

#include "absl/time/time.h"

namespace gpuscaler {

// Readings farther apart say nothing of the time between them.
inline constexpr absl::Duration kLongestGap = absl::Seconds(10);

inline absl::Time Second(int second) {
  return absl::FromUnixSeconds(1'767'225'600) + absl::Seconds(second);
}

}  // namespace gpuscaler
