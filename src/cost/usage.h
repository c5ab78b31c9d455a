// GPU time by workload or by node: the rows from which a cost report is made.
#pragma once

#include <string>
#include <vector>

#include "cost/gpu_state.h"

namespace gpuscaler {

// Empty fields are unknown, or were not counted apart. Free GPUs have neither namespace nor
// workload.
struct UsageKey {
  std::string namespace_name;
  std::string workload;
  std::string gpu_model;
  std::string node;

  friend auto operator<=>(const UsageKey&, const UsageKey&) = default;
};

struct Usage {
  UsageKey key;
  StateTimes times;
};

}  // namespace gpuscaler
