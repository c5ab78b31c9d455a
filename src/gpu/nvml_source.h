// NVIDIA GPUs through NVML. Recovers from lost GPUs and driver reloads.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/failing_gpus.h"
#include "gpu/gpu_source.h"
#include "gpu/nvml_session.h"

namespace gpuscaler {

// After an error of the library itself, or of every GPU, the session is closed. It is opened again
// after 1 s, later after 10 s at most. Until then Read() returns the error at once. GPUs that fail
// while others work are gaps in their samples. To recover them, the session is reopened before the
// next reading, at most once a minute. Reopening ends once it has cost the other GPUs a reading.
// Not thread-safe.
class NvmlSource : public GpuSource {
 public:
  // `paths` are tried in order for the library: nvml::LibraryPaths(). `clock` must outlive the
  // source.
  NvmlSource(std::vector<std::string> paths, std::string node, const Clock& clock);

  // Blocks as long as the driver does, also for nvmlInit.
  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& wanted) override;

 private:
  absl::Status EnsureSession();
  absl::StatusOr<NodeSnapshot> ReadAll(const CostlyReadings& wanted);
  nvml::DeviceReading ReadGpu(int index, const CostlyReadings& wanted, absl::Time now);
  void AddReadable(nvml::DeviceReading reading, const CostlyReadings& wanted,
                   NodeSnapshot& snapshot) const;
  void AddLinkGroups(NodeSnapshot& snapshot);
  void AddFailing(const std::vector<FailingIndex>& failing, const CostlyReadings& wanted,
                  NodeSnapshot& snapshot) const;
  absl::Status BackOff(const absl::Status& error);
  absl::Status ReopenForFailingGpus();
  void EraseGoneHistories();

  const std::vector<std::string> paths_;
  const std::string node_;
  const Clock& clock_;
  std::unique_ptr<nvml::Session> session_;
  std::map<std::string, nvml::DeviceHistory> histories_;  // key: UUID
  NodeSnapshot last_;  // the last snapshot: the GPUs before a failure

  absl::Status error_;  // while backing off
  absl::Duration back_off_ = absl::ZeroDuration();
  absl::Time retry_at_ = absl::InfinitePast();

  absl::Time reopened_at_ = absl::InfinitePast();
  bool reopen_ = false;  // before the next reading, so that this one does not wait for nvmlInit
  bool may_reopen_ = true;
};

}  // namespace gpuscaler
