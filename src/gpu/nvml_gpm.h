// Utilization of a MIG instance from GPM (Hopper and later). All other calls of NVML support only
// whole GPUs.
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "gpu/nvml_api.h"

namespace gpuscaler::nvml {

// Percent of the time with work on one GPU instance, between two samples of its counters. Valid for
// one nvmlInit and one MIG UUID only: an instance that is created again under the same id has other
// counters.
class GpmUtilization {
 public:
  explicit GpmUtilization(const NvmlFunctions& calls) : calls_(calls) {}
  ~GpmUtilization();
  GpmUtilization(const GpmUtilization&) = delete;
  GpmUtilization& operator=(const GpmUtilization&) = delete;

  // Leaves `percent` empty and returns kSuccess until two samples are far enough apart.
  Return Read(Device parent, unsigned gpu_instance, absl::Time now, std::optional<double>& percent);

 private:
  Return Measure(std::optional<double>& percent) const;

  const NvmlFunctions& calls_;
  GpmSample earlier_ = nullptr;
  GpmSample later_ = nullptr;
  absl::Time earlier_at_ = absl::InfinitePast();
  std::optional<double> last_;
};

// Queries whether `gpu` has GPM. Leaves `supported` unchanged on a failure.
Return QueryGpm(const NvmlFunctions& calls, Device gpu, bool& supported);

}  // namespace gpuscaler::nvml
