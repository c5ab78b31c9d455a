// How a load goes, on standard error: one line that changes in a terminal, a line a second
// elsewhere.
#pragma once

#include "absl/time/time.h"
#include "load/load_run.h"
#include "load/rate_curve.h"

namespace gpuscaler {

// Not thread-safe.
class LoadProgress {
 public:
  LoadProgress(RateCurve curve, absl::Duration duration);

  void Show(LoadRun& run);  // prints when it is time
  void End();               // what follows begins on a line of its own

 private:
  const RateCurve curve_;
  const absl::Duration duration_;
  const bool terminal_;
  absl::Duration shown_at_;
};

}  // namespace gpuscaler
