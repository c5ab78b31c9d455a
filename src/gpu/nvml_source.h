// NVIDIA GPUs through NVML, across lost GPUs and reloads of the driver.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/failing_gpus.h"
#include "gpu/gpu_source.h"
#include "gpu/nvml_session.h"

namespace gpuscaler {

// After an error of the library itself, or of every GPU, the session is dropped and opened again,
// after 1 s and at most 10 s. GPUs that fail beside others that answer are gaps in their samples;
// for their sake the session is opened anew before the next reading, at most once a minute, and no
// more once that has cost the others a reading.
class NvmlSource : public GpuSource {
 public:
  // `places` are tried in turn for the library: nvml::LibraryPlaces(). `clock` outlives the source.
  NvmlSource(std::vector<std::string> places, std::string node, const Clock& clock);

  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& wanted) override;

 private:
  absl::Status EnsureSession();
  absl::StatusOr<NodeSnapshot> ReadAll(const CostlyReadings& wanted);
  nvml::DeviceReading ReadGpu(int index, const CostlyReadings& wanted, absl::Time now);
  void AddReadable(nvml::DeviceReading reading, const CostlyReadings& wanted,
                   NodeSnapshot& snapshot) const;
  void AddFailing(const std::vector<FailingIndex>& failing, const CostlyReadings& wanted,
                  NodeSnapshot& snapshot) const;
  absl::Status BackOff(const absl::Status& error);
  absl::Status ReopenForTheFailing();
  void ForgetGone();

  const std::vector<std::string> places_;
  const std::string node_;
  const Clock& clock_;
  std::unique_ptr<nvml::Session> session_;
  std::map<std::string, nvml::DeviceHistory> histories_;  // by UUID
  NodeSnapshot last_;  // tells which GPU an index that fails stands for

  absl::Status error_;  // while backing off
  absl::Duration back_off_ = absl::ZeroDuration();
  absl::Time retry_at_ = absl::InfinitePast();

  absl::Time reopened_at_ = absl::InfinitePast();
  bool reopen_ = false;  // before the next reading: this one is not to wait for nvmlInit
  bool may_reopen_ = true;
};

}  // namespace gpuscaler
