#include "signal/source_leases.h"

#include <algorithm>

#include "model/engine_metric.h"

namespace gpuscaler {

SourceLeases::LeaseKey SourceLeases::KeyOf(const EngineQuery& query) {
  return {.look_back = query.look_back + query.window,
          .histograms = NeedsHistograms(query),
          .model = query.model,
          .demand_window = query.demand_window};
}

bool SourceLeases::IsNew(const EngineQuery& query) const { return !until_.contains(KeyOf(query)); }

void SourceLeases::Renew(const EngineQuery& query, absl::Time until) {
  const auto [known, is_new] = until_.try_emplace(KeyOf(query), until);
  known->second = std::max(known->second, until);
  if (is_new) Aggregate();
}

bool SourceLeases::RemoveExpired(absl::Time now) {
  const size_t ended =
      std::erase_if(until_, [&](const auto& lease) { return lease.second <= now; });
  if (ended > 0) Aggregate();
  return ended > 0;
}

void SourceLeases::Aggregate() {
  look_back_ = absl::ZeroDuration();
  demand_window_ = absl::ZeroDuration();
  histograms_ = false;
  models_.clear();
  for (const auto& [key, until] : until_) {
    look_back_ = std::max(look_back_, key.look_back);
    demand_window_ = std::max(demand_window_, key.demand_window);
    histograms_ = histograms_ || key.histograms;
    if (!key.model.empty()) models_.insert(key.model);
  }
}

size_t SourceLeases::Bytes() const {
  constexpr size_t kNode = 64;  // tree node and malloc overhead
  size_t bytes = 0;
  for (const auto& [key, until] : until_) {
    bytes += sizeof(key) + kNode + 2 * key.model.capacity();
  }
  return bytes;
}

}  // namespace gpuscaler
