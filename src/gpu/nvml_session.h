// The time between nvmlInit and nvmlShutdown: the library and every handle that it gave out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu/nvml_device.h"
#include "gpu/nvml_library.h"

namespace gpuscaler::nvml {

// The library is loaded with the session and unloaded with it, so that after an upgrade of the
// driver the next one gets the new library. Not thread-safe.
class Session {
 public:
  // UNAVAILABLE: no library, or the driver will not start.
  static absl::StatusOr<std::unique_ptr<Session>> Open(const std::vector<std::string>& places);

  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::string& driver_version() const { return driver_version_; }

  // What the driver counts now. UNAVAILABLE: the session is worth nothing any more.
  absl::StatusOr<int> CountGpus();

  // The GPU's handle, kept for as long as it answers; null with `failure` set.
  NvmlDevice* Gpu(int index, Return& failure);
  void DropGpu(int index) { gpus_[static_cast<size_t>(index)].reset(); }

 private:
  explicit Session(std::unique_ptr<Library> library);

  const std::unique_ptr<Library> library_;
  const Calls& calls_;
  std::string driver_version_;
  std::vector<std::unique_ptr<NvmlDevice>> gpus_;  // by index; null until asked for
};

}  // namespace gpuscaler::nvml
