// The time between nvmlInit and nvmlShutdown. Owns the library and all handles.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
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

  // Returns the link groups (nvml_links.h) of the GPUs by their UUIDs. They are read once, and
  // again if a GPU is new. While some are unknown, they are read once a minute.
  const std::map<std::string, std::string>& LinkGroups(absl::Time now);
  void DropGpu(int index) { gpus_[static_cast<size_t>(index)].reset(); }

 private:
  explicit Session(std::unique_ptr<Library> library);

  const std::unique_ptr<Library> library_;
  const NvmlFunctions& calls_;
  std::string driver_version_;
  std::vector<std::unique_ptr<NvmlDevice>> gpus_;  // in index order; null until requested
  std::map<std::string, std::string> link_groups_;
  absl::Time read_links_at_ = absl::InfinitePast();
  bool links_are_complete_ = false;
};

}  // namespace gpuscaler::nvml
