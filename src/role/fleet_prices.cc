#include "role/fleet_prices.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file_text.h"
#include "base/status_macros.h"
#include "cost/gpu_slices.h"

namespace gpuscaler {

FleetPrices::FleetPrices(const FleetReader& fleets, std::string file)
    : fleets_(fleets), file_(std::move(file)) {}

absl::Status FleetPrices::Reload() {
  ASSIGN_OR_RETURN(const std::string text, ReadFileText(file_, PriceList::kMaxBytes));
  absl::StatusOr<PriceList> prices = PriceList::Parse(text);
  if (!prices.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(file_, ": ", prices.status().message()));
  }
  auto loaded = std::make_shared<const PriceList>(*std::move(prices));
  MutexLock lock(mutex_);
  list_ = std::move(loaded);
  return absl::OkStatus();
}

std::shared_ptr<const PriceList> FleetPrices::list() const {
  MutexLock lock(mutex_);
  return list_;
}

std::map<std::string, HourlyPrice> FleetPrices::ModelPrices() const {
  std::map<std::string, HourlyPrice> prices;
  const std::shared_ptr<const PriceList> known = list();
  const auto fleet = fleets_.AllNodes();
  if (known == nullptr || !fleet.ok()) return prices;
  std::set<std::string> models;
  for (const NodeState& state : (*fleet)->nodes) {
    for (WholeGpu& gpu : WholeGpusOn(state.history->Newest())) models.insert(std::move(gpu.model));
  }
  for (const std::string& model : models) {
    const std::optional<HourlyPrice> price = known->PriceOf(model);
    if (price.has_value()) prices.emplace(model, *price);
  }
  return prices;
}

}  // namespace gpuscaler
