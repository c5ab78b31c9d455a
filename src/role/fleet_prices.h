// The prices of the fleet's GPU models, from a file.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "cost/money.h"
#include "cost/price_list.h"
#include "model/fleet_reader.h"

namespace gpuscaler {

// Thread-safe.
class FleetPrices {
 public:
  FleetPrices(const FleetReader& fleets, std::string file);  // `fleets` must outlive it

  // Reads the file again. Returns INVALID_ARGUMENT for an unusable file, and keeps the last good
  // prices.
  absl::Status Reload();

  // Null before the first Reload().
  std::shared_ptr<const PriceList> list() const;

  // Returns the price of each GPU model of the fleet that has one, by the model's name as GPUs have
  // it. Empty while the fleet is unknown.
  std::map<std::string, HourlyPrice> ModelPrices() const;

 private:
  const FleetReader& fleets_;
  const std::string file_;
  mutable Mutex mutex_;
  std::shared_ptr<const PriceList> list_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
