#include "signal/source_leases.h"

#include <algorithm>

#include "model/engine_metric.h"

namespace gpuscaler {

SourceLeases::Interest SourceLeases::InterestOf(const EngineQuery& question) {
  return {.look_back = question.look_back + question.window,
          .histograms = NeedsHistograms(question),
          .model = question.model,
          .memory = question.memory};
}

bool SourceLeases::IsNew(const EngineQuery& question) const {
  return !until_.contains(InterestOf(question));
}

void SourceLeases::Renew(const EngineQuery& question, absl::Time until) {
  const auto [known, is_new] = until_.try_emplace(InterestOf(question), until);
  known->second = std::max(known->second, until);
  if (is_new) Aggregate();
}

bool SourceLeases::End(absl::Time now) {
  const size_t ended =
      std::erase_if(until_, [&](const auto& interest) { return interest.second <= now; });
  if (ended > 0) Aggregate();
  return ended > 0;
}

void SourceLeases::Aggregate() {
  look_back_ = absl::ZeroDuration();
  memory_ = absl::ZeroDuration();
  histograms_ = false;
  models_.clear();
  for (const auto& [interest, until] : until_) {
    look_back_ = std::max(look_back_, interest.look_back);
    memory_ = std::max(memory_, interest.memory);
    histograms_ = histograms_ || interest.histograms;
    if (!interest.model.empty()) models_.insert(interest.model);
  }
}

size_t SourceLeases::Bytes() const {
  constexpr size_t kNode = 64;  // tree node and malloc overhead
  size_t bytes = 0;
  for (const auto& [interest, until] : until_) {
    bytes += sizeof(interest) + kNode + 2 * interest.model.capacity();
  }
  return bytes;
}

}  // namespace gpuscaler
