// Finds and loads libnvidia-ml.so.1 at run time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu/nvml_api.h"

namespace gpuscaler::nvml {

// Returns names and paths to try in order: first the loader's own search, then the paths of drivers
// that are installed outside the container.
const std::vector<std::string>& LibraryPaths();

class Library {
 public:
  // UNAVAILABLE names every path and the reason.
  static absl::StatusOr<std::unique_ptr<Library>> Load(const std::vector<std::string>& paths);

  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const NvmlFunctions& calls() const { return calls_; }

 private:
  explicit Library(void* library);

  void* const library_;
  NvmlFunctions calls_{};
};

}  // namespace gpuscaler::nvml
