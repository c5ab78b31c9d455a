// One reading of several GPUs over time, gaps bridged by readings younger than stale_after.
#pragma once

#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "scaling/trigger.h"

namespace gpuscaler {

class Bridge {
 public:
  Bridge(size_t gpus, absl::Duration stale_after) : last_(gpus), stale_after_(stale_after) {}

  void Read(size_t gpu, absl::Time at, std::optional<double> value);

  // The GPU is none of them, until it is read again.
  void Leave(size_t gpu) { last_[gpu] = {.counts = false}; }

  // InfinitePast when a GPU never gave one.
  absl::Time Oldest() const;

  // Empty when a GPU gave none for longer than stale_after.
  std::optional<double> Together(Aggregation aggregation, absl::Time at) const;

  bool AnyAboveZero(absl::Time at) const;

 private:
  struct Reading {
    absl::Time at = absl::InfinitePast();
    double value = 0;
    bool counts = true;
  };
  std::vector<Reading> last_;
  const absl::Duration stale_after_;
};

}  // namespace gpuscaler
