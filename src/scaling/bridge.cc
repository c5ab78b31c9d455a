#include "scaling/bridge.h"

#include <algorithm>
#include <utility>

#include "scaling/aggregate.h"

namespace gpuscaler {

void Bridge::Read(size_t gpu, absl::Time at, std::optional<double> value) {
  last_[gpu].counts = true;
  if (!value) return;
  last_[gpu].at = at;
  last_[gpu].value = *value;
}

absl::Time Bridge::Oldest() const {
  absl::Time oldest = absl::InfiniteFuture();
  for (const Reading& reading : last_) {
    if (reading.counts) oldest = std::min(oldest, reading.at);
  }
  return oldest == absl::InfiniteFuture() ? absl::InfinitePast() : oldest;
}

std::optional<double> Bridge::Together(Aggregation aggregation, absl::Time at) const {
  if (at - Oldest() > stale_after_) return std::nullopt;
  if (last_.size() == 1) return last_.front().value;  // no allocation where it is the rule
  std::vector<double> values;
  values.reserve(last_.size());
  for (const Reading& reading : last_) {
    if (reading.counts) values.push_back(reading.value);
  }
  return Aggregate(aggregation, std::move(values));
}

bool Bridge::AnyAboveZero(absl::Time at) const {
  return std::ranges::any_of(last_, [&](const Reading& reading) {
    return reading.counts && reading.value > 0 && at - reading.at <= stale_after_;
  });
}

}  // namespace gpuscaler
