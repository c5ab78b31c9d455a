// Utilisation as a mean since the last reading, so that a burst between two ticks is not missed.
#pragma once

#include <optional>

#include "absl/types/span.h"
#include "gpu/nvml_api.h"

namespace gpuscaler::nvml {

// The driver keeps some seconds of samples, one every 1/6 s or so; one call returns those that are
// new. Keeps the time of the newest, and nothing of the library's: survives a new nvmlInit.
class SampleMean {
 public:
  // `type` is kGpuUtilizationSamples or kMemoryUtilizationSamples.
  explicit SampleMean(int type) : type_(type) {}

  // Percent. At first over the newest second. Empty where the device keeps no samples or has no new
  // one: the driver's last rate is then the best there is.
  std::optional<double> SinceLastReading(const Calls& calls, Device device);

 private:
  std::optional<double> Mean(absl::Span<const Sample> samples);

  const int type_;
  uint64_t newest_usec_ = 0;  // 0 before the first reading
};

}  // namespace gpuscaler::nvml
