// Times for tests: whole seconds after a fixed instant.
#pragma once

#include "absl/time/time.h"

namespace gpuscaler {

// The time between readings farther apart does not count.
inline constexpr absl::Duration kLongestGap = absl::Seconds(10);

inline absl::Time Second(int second) {
  return absl::FromUnixSeconds(1'767'225'600) + absl::Seconds(second);
}

}  // namespace gpuscaler
