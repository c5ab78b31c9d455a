// Mean utilization since the last reading, so that no burst between two readings is missed.
#pragma once

#include <optional>

#include "absl/types/span.h"
#include "gpu/nvml_api.h"

namespace gpuscaler::nvml {

// The driver keeps some seconds of samples, one every 1/6 s or so, and a call returns the new ones.
// This keeps the time of the newest and no object of the library, so it survives a new nvmlInit.
// Not thread-safe.
class MeanUtilization {
 public:
  // `type` is kGpuUtilizationSamples or kMemoryUtilizationSamples.
  explicit MeanUtilization(int type) : type_(type) {}

  // Returns 0-100, at first over the newest second. Empty: the call fails, or the device keeps no
  // samples or has no new one. The driver's last rate is then the best value.
  std::optional<double> SinceLastReading(const NvmlFunctions& calls, Device device);

 private:
  std::optional<double> Mean(absl::Span<const Sample> samples);

  const int type_;
  uint64_t newest_usec_ = 0;  // 0 before the first reading
};

}  // namespace gpuscaler::nvml
