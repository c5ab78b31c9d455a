// The cost of the fleet's GPUs over the last day, for the web port, and their prices.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "cost/cost_history.h"
#include "cost/cost_report.h"
#include "cost/gpu_time.h"
#include "cost/money.h"
#include "cost/price_list.h"
#include "store/fleet_reader.h"

namespace gpuscaler {

// Thread-safe.
class CostRecorder {
 public:
  // References must outlive it. `prices` is a file; empty: costs are GPU-hours alone.
  CostRecorder(const Clock& clock, const FleetReader& fleets, const GpuTimeLimits& limits,
               std::string prices);

  // Must be called every CostHistory::kRecordEvery. Does nothing while the fleet is unknown.
  void Tick();

  CostReport Report(int hours, GroupBy by) const;

  // Returns the price of each GPU model of the fleet that has one, by the model's name as GPUs have
  // it. Empty while the fleet is unknown.
  std::map<std::string, HourlyPrice> ModelPrices() const;

  bool HasPrices() const { return !prices_file_.empty(); }
  // Reads the prices again. Returns INVALID_ARGUMENT for an unusable file, and keeps the last good
  // one. Must be called once before Report().
  absl::Status ReloadPrices();

 private:
  const Clock& clock_;
  const FleetReader& fleets_;
  const std::string prices_file_;
  mutable Mutex mutex_;
  CostHistory history_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<const PriceList> prices_ ABSL_GUARDED_BY(mutex_);  // null: none
};

}  // namespace gpuscaler
