// The mean of a percentage since the last reading, from the sum that an AMD GPU's firmware keeps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace gpuscaler {

// Not thread-safe.
class MeanActivity {
 public:
  // `sum` has grown by the present percentage in each of `cycles`. Returns 0-100. Empty: it is the
  // first reading, no cycle has passed, or the counters began anew. They do after a reset of the
  // GPU, and the sums of 32 bits after half a day of full load.
  std::optional<double> SinceLastReading(uint32_t cycles, uint64_t sum) {
    std::optional<double> mean;
    if (seen_ && cycles > cycles_ && sum >= sum_) {
      mean = static_cast<double>(sum - sum_) / static_cast<double>(cycles - cycles_);
    }
    seen_ = true;
    cycles_ = cycles;
    sum_ = sum;
    if (mean && *mean > kMaxPercent) return std::nullopt;
    return mean ? std::optional(std::min(*mean, 100.0)) : std::nullopt;
  }

 private:
  // The firmware rounds the sums. A larger mean is no percentage.
  static constexpr double kMaxPercent = 101;

  bool seen_ = false;
  uint32_t cycles_ = 0;
  uint64_t sum_ = 0;
};

}  // namespace gpuscaler
