// The cost of the fleet's GPUs over the last day, for the web port.
#pragma once

#include "base/clock.h"
#include "base/mutex.h"
#include "cost/cost_history.h"
#include "cost/cost_report.h"
#include "cost/gpu_time.h"
#include "model/fleet_reader.h"
#include "role/fleet_prices.h"

namespace gpuscaler {

// Thread-safe.
class CostRecorder {
 public:
  // References and `prices` must outlive it. Null prices: costs are GPU-hours alone.
  CostRecorder(const Clock& clock, const FleetReader& fleets, const GpuTimeLimits& limits,
               const FleetPrices* prices);

  // Must be called every CostHistory::kRecordEvery. Does nothing while the fleet is unknown.
  void Tick();

  CostReport Report(int hours, GroupBy by) const;

 private:
  const Clock& clock_;
  const FleetReader& fleets_;
  const FleetPrices* const prices_;
  mutable Mutex mutex_;
  CostHistory history_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
