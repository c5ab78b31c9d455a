#include "role/cost_recorder.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file_text.h"
#include "base/status_macros.h"
#include "cost/gpu_slices.h"

namespace gpuscaler {

CostRecorder::CostRecorder(const Clock& clock, const FleetReader& fleets,
                           const GpuTimeLimits& limits, std::string prices)
    : clock_(clock), fleets_(fleets), prices_file_(std::move(prices)), history_(limits) {}

void CostRecorder::Tick() {
  const auto fleet = fleets_.AllNodes();
  if (!fleet.ok()) return;
  MutexLock lock(mutex_);
  history_.Record(clock_.Now(), **fleet);
}

CostReport CostRecorder::Report(int hours, GroupBy by) const {
  MutexLock lock(mutex_);
  return history_.Report(hours, by, prices_.get());
}

std::map<std::string, HourlyPrice> CostRecorder::ModelPrices() const {
  std::map<std::string, HourlyPrice> prices;
  if (!HasPrices()) return prices;
  const auto fleet = fleets_.AllNodes();
  if (!fleet.ok()) return prices;
  std::set<std::string> models;
  for (const NodeState& state : (*fleet)->nodes) {
    for (WholeGpu& gpu : WholeGpusOn(state.history->Newest())) models.insert(std::move(gpu.model));
  }
  MutexLock lock(mutex_);
  if (prices_ == nullptr) return prices;
  for (const std::string& model : models) {
    const std::optional<HourlyPrice> price = prices_->PriceOf(model);
    if (price.has_value()) prices.emplace(model, *price);
  }
  return prices;
}

absl::Status CostRecorder::ReloadPrices() {
  if (!HasPrices()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text, ReadFileText(prices_file_, PriceList::kMaxBytes));
  absl::StatusOr<PriceList> prices = PriceList::Parse(text);
  if (!prices.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(prices_file_, ": ", prices.status().message()));
  }
  auto loaded = std::make_unique<const PriceList>(*std::move(prices));
  MutexLock lock(mutex_);
  prices_ = std::move(loaded);
  return absl::OkStatus();
}

}  // namespace gpuscaler
