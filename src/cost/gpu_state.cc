#include "cost/gpu_state.h"

#include <numeric>

namespace gpuscaler {

absl::string_view Name(GpuState state) {
  static constexpr std::array<absl::string_view, kGpuStates> kNames = {"busy", "idle", "starting",
                                                                       "free", "unknown"};
  return kNames[static_cast<size_t>(state)];
}

int64_t StateTimes::Total() const {
  return std::accumulate(micros_.begin(), micros_.end(), int64_t{0});
}

void StateTimes::Add(const StateTimes& other) {
  for (size_t i = 0; i < micros_.size(); ++i) micros_[i] += other.micros_[i];
}

}  // namespace gpuscaler
