// A file of simulated GPUs that the real server reads.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace gpuscaler {

// A file in a temporary folder, which is removed with the object. Not thread-safe.
class DemoGpuFile {
 public:
  // Returns UNAVAILABLE if there is no folder for temporary files.
  static absl::StatusOr<DemoGpuFile> Open();
  ~DemoGpuFile();
  DemoGpuFile(DemoGpuFile&& other) noexcept;
  DemoGpuFile& operator=(DemoGpuFile&&) = delete;

  // Replaces the file atomically. Returns UNAVAILABLE if it cannot be written.
  absl::Status Write(const std::string& text) const;

  const std::string& folder() const { return folder_; }
  std::string path() const { return folder_ + "/gpus.json"; }

 private:
  explicit DemoGpuFile(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;  // empty: moved from
};

}  // namespace gpuscaler
