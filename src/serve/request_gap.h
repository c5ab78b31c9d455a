// The longest time between two requests for a trigger in the past one or two weeks.
#pragma once

#include <algorithm>
#include <utility>

#include "absl/time/time.h"

namespace gpuscaler {

// A gap counts for at least one week and at most two. The HPA requests a busy workload's metrics
// every 15 s, possibly for days. At zero replicas only KEDA's poll remains, with an interval of
// minutes. If that interval were forgotten, the lease would end between two polls. A gap that an
// outage of KEDA caused must not count for ever either. Not thread-safe.
class LongestRequestGap {
 public:
  // Records a request and returns the longest gap, including the one before it. Negative for the
  // first request.
  absl::Duration Record(absl::Time now) {
    if (now - period_start_ >= kRemembered) {
      previous_ = std::exchange(current_, -absl::InfiniteDuration());
      period_start_ = now;
    }
    current_ = std::max(current_, now - last_);
    last_ = now;
    return std::max(current_, previous_);
  }

 private:
  static constexpr absl::Duration kRemembered = absl::Hours(7 * 24);

  absl::Time last_ = absl::InfiniteFuture();
  absl::Time period_start_ = absl::InfinitePast();
  absl::Duration current_ = -absl::InfiniteDuration();
  absl::Duration previous_ = -absl::InfiniteDuration();
};

}  // namespace gpuscaler
