// Records the answers for all live triggers. It evaluates them itself, so that the points are
// evenly spaced, whatever the intervals of clients are.
#pragma once

#include <map>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "base/clock.h"
#include "history/trigger_history.h"
#include "serve/scaler_service.h"

namespace gpuscaler {

// Not thread-safe.
class HistoryRecorder {
 public:
  // All references must outlive it.
  HistoryRecorder(const Clock& clock, const ScalerService& service, TriggerHistory& history)
      : clock_(clock), service_(service), history_(history) {}

  // Must be called every kHistoryStep. Renews no lease. Blocks for the time of a decision on each
  // trigger.
  void Tick();

 private:
  const Clock& clock_;
  const ScalerService& service_;
  TriggerHistory& history_;
};

}  // namespace gpuscaler
