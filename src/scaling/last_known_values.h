// One reading of several GPUs over time, gaps bridged by readings younger than stale_after.
#pragma once

#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// One GPU is the rule: it costs no call and no allocation.
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

  // The GPU is none of them, until it is read again.
  void Leave(size_t gpu) { last_[gpu] = {.counts = false}; }

  // InfinitePast when a GPU never gave one.
  absl::Time Oldest() const { return last_.size() == 1 ? last_.front().at : OldestOfAll(); }

  // Empty when a GPU gave none for longer than stale_after.
  std::optional<double> Together(Aggregation aggregation, absl::Time at) const {
    if (at - Oldest() > stale_after_) return std::nullopt;
    return last_.size() == 1 ? last_.front().value : Aggregated(aggregation);
  }

  bool AnyAboveZero(absl::Time at) const {
    for (const Reading& reading : last_) {
      if (reading.value > 0 && reading.counts && at - reading.at <= stale_after_) return true;
    }
    return false;
  }

 private:
  struct Reading {
    absl::Time at = absl::InfinitePast();
    double value = 0;
    bool counts = true;
  };
  absl::Time OldestOfAll() const;
  double Aggregated(Aggregation aggregation) const;

  std::vector<Reading> last_;
  const absl::Duration stale_after_;
};

}  // namespace gpuscaler
