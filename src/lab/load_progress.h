// The progress of a load run on standard error: a line updated in place on a terminal, one line per
// second elsewhere.
#pragma once

#include "absl/time/time.h"
#include "simulate/load_run.h"
#include "simulate/rate_curve.h"

namespace gpuscaler {

// Not thread-safe.
class LoadProgress {
 public:
  LoadProgress(RateCurve curve, absl::Duration duration);

  void Show(LoadRun& run);  // prints if a line is due
  void End();               // later output starts on a new line

 private:
  const RateCurve curve_;
  const absl::Duration duration_;
  const bool terminal_;
  absl::Duration shown_at_;
};

}  // namespace gpuscaler
