// Records the answers for all live triggers. It evaluates them itself, so that points are evenly
// spaced, whatever the intervals of clients are.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "scaling/decision.h"
#include "serve/live_trigger.h"
#include "serve/scaler_service.h"
#include "web/history_point.h"
#include "web/known_replicas.h"
#include "web/trigger_history.h"

namespace gpuscaler {

// Returns the numbers of a decision. `point.at` and `point.replaced` are not set.
HistoryPoint PointOf(const Decision& decision, double target);

// Records each live trigger once in each kHistoryStep. The triggers of a step are spread over it,
// so that no burst of decisions delays answers. Does not prolong their leases. Not thread-safe.
class HistoryRecorder {
 public:
  // All references must outlive it.
  HistoryRecorder(const Clock& clock, const ScalerService& service, TriggerHistory& history)
      : clock_(clock), service_(service), history_(history) {}

  // Must be called several times in each kHistoryStep, evenly. Blocks for the time of the decisions
  // that are due.
  void Tick();

 private:
  void BeginStep(absl::Time step);
  void Record(const LiveTrigger& live);

  const Clock& clock_;
  const ScalerService& service_;
  TriggerHistory& history_;
  absl::Time step_ = absl::InfinitePast();  // begin of the present step
  absl::Time ticked_at_ = absl::InfinitePast();
  std::vector<LiveTrigger> live_;                       // the triggers of the present step
  size_t recorded_ = 0;                                 // how many of them are recorded
  std::map<TriggerKey, KnownReplicas> known_replicas_;  // key: a trigger of the present step
};

}  // namespace gpuscaler
