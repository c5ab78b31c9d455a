// Utilisation of a MIG instance from GPM (Hopper and later): NVML's other ways know whole GPUs
// only.
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "gpu/nvml_api.h"

namespace gpuscaler::nvml {

// Percent of the time with work on one GPU instance, between two samples of its counters. Bound to
// the nvmlInit it was made under, and to one MIG UUID: counters of an instance made anew under the
// same id give nonsense.
class GpmUtilization {
 public:
  explicit GpmUtilization(const Calls& calls) : calls_(calls) {}
  ~GpmUtilization();
  GpmUtilization(const GpmUtilization&) = delete;
  GpmUtilization& operator=(const GpmUtilization&) = delete;

  // Leaves `percent` empty, with kSuccess, while there are no two samples far enough apart.
  Return Read(Device parent, unsigned gpu_instance, absl::Time now, std::optional<double>& percent);

 private:
  Return Measure(std::optional<double>& percent) const;

  const Calls& calls_;
  GpmSample earlier_ = nullptr;
  GpmSample later_ = nullptr;
  absl::Time earlier_at_ = absl::InfinitePast();
  std::optional<double> last_;
};

// Whether `gpu` has GPM; leaves `supported` alone on a failure.
Return QueryGpm(const Calls& calls, Device gpu, bool& supported);

}  // namespace gpuscaler::nvml
