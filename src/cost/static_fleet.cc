#include "cost/static_fleet.h"

#include <cmath>

namespace gpuscaler {
namespace {

int64_t MostMicros(const StaticFleet& fleet, absl::Duration period) {
  return std::llround(fleet.most_gpus * static_cast<double>(absl::ToInt64Microseconds(period)));
}

// Returns nullopt if a model has no price.
std::optional<Money> MoneySaved(std::span<const StaticFleet> fleets, absl::Duration period,
                                const PriceList& prices) {
  Money saved;
  for (const StaticFleet& fleet : fleets) {
    const std::optional<HourlyPrice> price = prices.PriceOf(fleet.workload.gpu_model);
    if (!price) return std::nullopt;
    saved.Add(Money(*price, MostMicros(fleet, period) - fleet.held_micros));
  }
  return saved;
}

}  // namespace

Saving SavingOf(std::span<const StaticFleet> fleets, absl::Duration period,
                const PriceList* prices) {
  Saving saving;
  if (prices != nullptr) saving.saved = MoneySaved(fleets, period, *prices);
  for (const StaticFleet& fleet : fleets) {
    saving.static_micros += MostMicros(fleet, period);
    saving.held_micros += fleet.held_micros;
  }
  return saving;
}

}  // namespace gpuscaler
