#include "cost/static_fleet.h"

#include <cmath>

namespace gpuscaler {

Saving SavingOf(std::span<const StaticFleet> fleets, absl::Duration period,
                const PriceList* prices) {
  Saving saving;
  if (prices != nullptr) saving.saved.emplace();
  for (const StaticFleet& fleet : fleets) {
    const int64_t most =
        std::llround(fleet.most_gpus * static_cast<double>(absl::ToInt64Microseconds(period)));
    saving.static_micros += most;
    saving.held_micros += fleet.held_micros;
    if (prices == nullptr || !saving.saved) continue;
    const std::optional<HourlyPrice> price = prices->PriceOf(fleet.workload.gpu_model);
    if (price) {
      saving.saved->Add(Money(*price, most - fleet.held_micros));
    } else {
      saving.saved.reset();
    }
  }
  return saving;
}

}  // namespace gpuscaler
