// The time between nvmlInit and nvmlShutdown. Owns the library and all handles.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu/nvml_device.h"
#include "gpu/nvml_library.h"

namespace gpuscaler::nvml {

// Loads the library at its start and unloads it at its end. So after an upgrade of the driver the
// next session loads the new library. Not thread-safe.
class Session {
 public:
  // UNAVAILABLE: no library, or the driver will not start.
  static absl::StatusOr<std::unique_ptr<Session>> Open(const std::vector<std::string>& places);

  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::string& driver_version() const { return driver_version_; }

  // UNAVAILABLE: the session is no longer usable.
  absl::StatusOr<int> CountGpus();

  // Returns the GPU's handle, kept as long as it works, or nullptr with `failure` set.
  NvmlDevice* Gpu(int index, Return& failure);
  void DropGpu(int index) { gpus_[static_cast<size_t>(index)].reset(); }

 private:
  explicit Session(std::unique_ptr<Library> library);

  const std::unique_ptr<Library> library_;
  const NvmlFunctions& calls_;
  std::string driver_version_;
  std::vector<std::unique_ptr<NvmlDevice>> gpus_;  // in index order; null until requested
};

}  // namespace gpuscaler::nvml
