// GPU utilization of an engine between two samples, as a driver would report it.
#pragma once

#include <algorithm>
#include <utility>

#include "absl/time/time.h"

namespace gpuscaler {

// Not thread-safe.
class EngineBusy {
 public:
  explicit EngineBusy(absl::Time now) : read_at_(now) {}

  // Covers the time since the last call, 0-100. `busy` is the engine's total time in steps.
  double Percent(absl::Duration busy, absl::Time now) {
    const absl::Duration worked = busy - std::exchange(busy_, busy);
    const absl::Duration passed = now - std::exchange(read_at_, now);
    if (passed <= absl::ZeroDuration()) return 0;
    return 100 * std::clamp(absl::FDivDuration(worked, passed), 0.0, 1.0);
  }

 private:
  absl::Time read_at_;
  absl::Duration busy_;  // at read_at_
};

}  // namespace gpuscaler
