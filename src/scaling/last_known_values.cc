#include "scaling/last_known_values.h"

#include <algorithm>
#include <utility>

#include "scaling/aggregate.h"

namespace gpuscaler {

absl::Time LastKnownValues::OldestOfAll() const {
  absl::Time oldest = absl::InfiniteFuture();
  for (const Reading& reading : last_) {
    if (reading.counts) oldest = std::min(oldest, reading.at);
  }
  return oldest == absl::InfiniteFuture() ? absl::InfinitePast() : oldest;
}

double LastKnownValues::Aggregated(Aggregation aggregation) const {
  std::vector<double> values;
  values.reserve(last_.size());
  for (const Reading& reading : last_) {
    if (reading.counts) values.push_back(reading.value);
  }
  return Aggregate(aggregation, std::move(values));
}

}  // namespace gpuscaler
