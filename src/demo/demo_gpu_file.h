// A file of simulated GPUs, where the real server reads it.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace gpuscaler {

// A file in a folder of its own, which goes with it. Not thread-safe.
class DemoGpuFile {
 public:
  // UNAVAILABLE when there is no place for temporary files.
  static absl::StatusOr<DemoGpuFile> Open();
  ~DemoGpuFile();
  DemoGpuFile(DemoGpuFile&& other) noexcept;
  DemoGpuFile& operator=(DemoGpuFile&&) = delete;

  // Readers see the old text or the new one, never a part. UNAVAILABLE when it cannot be written.
  absl::Status Write(const std::string& text) const;

  std::string path() const { return folder_ + "/gpus.json"; }

 private:
  explicit DemoGpuFile(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;  // empty: moved from
};

}  // namespace gpuscaler
