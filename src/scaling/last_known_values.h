// One reading of several GPUs over time. A gap keeps the last known value for stale_after.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "scaling/aggregate.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// One GPU is the common case: it costs no loop and no allocation. Not thread-safe.
class LastKnownValues {
 public:
  LastKnownValues(size_t gpus, absl::Duration stale_after)
      : last_(gpus), stale_after_(stale_after) {}

  void Read(size_t gpu, absl::Time at, std::optional<double> value) {
    last_[gpu].counts = true;
    if (!value) return;
    last_[gpu].at = at;
    last_[gpu].value = *value;
  }

  // The GPU does not count until it is read again.
  void Remove(size_t gpu) { last_[gpu] = {.counts = false}; }

  // InfinitePast: a GPU never had a value.
  absl::Time Oldest() const { return last_.size() == 1 ? last_.front().at : OldestOfAll(); }

  // Empty: a GPU had no value for longer than stale_after.
  std::optional<double> AggregateAt(Aggregation aggregation, absl::Time at) const {
    if (!IsKnown(Oldest(), at)) return std::nullopt;
    return last_.size() == 1 ? last_.front().value : Aggregated(aggregation);
  }

  bool AnyAboveZero(absl::Time at) const {
    for (const Reading& reading : last_) {
      if (reading.value > 0 && reading.counts && IsKnown(reading.at, at)) return true;
    }
    return false;
  }

 private:
  struct Reading {
    absl::Time at = absl::InfinitePast();
    double value = 0;
    bool counts = true;
  };
  // Nearly all values were read at that very time.
  bool IsKnown(absl::Time read_at, absl::Time at) const {
    return read_at == at || at - read_at <= stale_after_;
  }
  absl::Time OldestOfAll() const {
    absl::Time oldest = absl::InfiniteFuture();
    for (const Reading& reading : last_) {
      if (reading.counts) oldest = std::min(oldest, reading.at);
    }
    return oldest == absl::InfiniteFuture() ? absl::InfinitePast() : oldest;
  }

  double Aggregated(Aggregation aggregation) const {
    std::vector<double> values;
    values.reserve(last_.size());
    for (const Reading& reading : last_) {
      if (reading.counts) values.push_back(reading.value);
    }
    return Aggregate(aggregation, std::move(values));
  }

  std::vector<Reading> last_;
  const absl::Duration stale_after_;
};

}  // namespace gpuscaler
