// Activity of a GPU or MIG instance from GPM (Hopper and later). It is the only call of NVML that
// has the utilization of MIG instances.
#pragma once

#include <array>
#include <optional>

#include "absl/time/time.h"
#include "gpu/nvml_api.h"
#include "gpu/nvml_reading.h"

namespace gpuscaler::nvml {

// Percentages of one GPU or GPU instance between two samples of its counters. One sample has the
// counters of every metric. Valid for one nvmlInit and one UUID only: an instance that is created
// again under the same id has other counters. Not thread-safe.
class GpmReader {
 public:
  explicit GpmReader(const NvmlFunctions& calls) : calls_(calls) {}
  ~GpmReader();
  GpmReader(const GpmReader&) = delete;
  GpmReader& operator=(const GpmReader&) = delete;

  // Returns kSuccess, kNotSupported if `gpu` has no GPM, or the driver's error. The driver is
  // queried until it has answered.
  Return Query(Device gpu, absl::Time now);

  // Samples the GPU, or one GPU instance of it. Must be called before Percent(). If the last sample
  // is too new, or the driver refused permission within the last minute, the results stay.
  void Sample(Device gpu, std::optional<unsigned> gpu_instance, absl::Time now);

  // Sets `percent` to 0-100, or returns the error of the last sample or of the metric. Returns
  // kSuccess with an empty `percent` until there are two samples. `metric` is one of the kGpm
  // constants.
  Return Percent(uint32_t metric, std::optional<double>& percent) const;

  // The next sample is the first.
  void Forget();

 private:
  Return Note(Return result, absl::Time now);
  Return TakeSample(Device gpu, std::optional<unsigned> gpu_instance);
  Return Measure();

  const NvmlFunctions& calls_;
  std::optional<bool> supported_;  // empty until the driver has answered
  Return result_ = kSuccess;       // the last call's
  absl::Time retry_at_ = absl::InfinitePast();
  GpmSample earlier_ = nullptr;
  GpmSample later_ = nullptr;
  absl::Time earlier_at_ = absl::InfinitePast();  // InfinitePast: there is no earlier sample
  bool measured_ = false;
  std::array<GpmMetric, 4> metrics_ = {};
};

// Fills the utilization of a MIG instance, or its gap. `before` is the result of the calls that
// precede the sample.
void SetGpmUtilization(Return before, const GpmReader& gpm, Reading& reading);

// Fills the activity of SMs, DRAM and tensor cores, or their gaps.
void SetActivity(Return before, const GpmReader& gpm, Reading& reading);
void AddActivityNotWanted(Reading& reading);

}  // namespace gpuscaler::nvml
