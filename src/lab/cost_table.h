// A table of the costs of the same load under several ways of scaling.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

struct ScalingCost {
  std::string name;
  double gpu_seconds = 0;  // all replicas, also starting ones
  int64_t served = 0;
  int64_t unserved = 0;
  absl::Duration mean_latency;  // from the arrival of a request to its last token
  absl::Duration longest_latency;
  int most_replicas = 0;
  int replicas = 0;  // at the end
};

// A row each; GPU-seconds are compared with those of the first row.
std::string CostTable(const std::vector<ScalingCost>& costs);

}  // namespace gpuscaler
