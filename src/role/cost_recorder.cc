#include "role/cost_recorder.h"

#include <memory>

namespace gpuscaler {

CostRecorder::CostRecorder(const Clock& clock, const FleetReader& fleets,
                           const GpuTimeLimits& limits, const FleetPrices* prices)
    : clock_(clock), fleets_(fleets), prices_(prices), history_(limits) {}

void CostRecorder::Tick() {
  const auto fleet = fleets_.AllNodes();
  if (!fleet.ok()) return;
  MutexLock lock(mutex_);
  history_.Record(clock_.Now(), **fleet);
}

CostReport CostRecorder::Report(int hours, GroupBy by) const {
  const std::shared_ptr<const PriceList> prices = prices_ == nullptr ? nullptr : prices_->list();
  MutexLock lock(mutex_);
  return history_.Report(hours, by, prices.get());
}

}  // namespace gpuscaler
