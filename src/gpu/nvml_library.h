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
const std::vector<std::string>& LibraryPlaces();

class Library {
 public:
  // UNAVAILABLE names every place and the reason.
  static absl::StatusOr<std::unique_ptr<Library>> Load(const std::vector<std::string>& places);

  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Calls& calls() const { return calls_; }

 private:
  explicit Library(void* library);

  void* const library_;
  Calls calls_{};
};

}  // namespace gpuscaler::nvml
