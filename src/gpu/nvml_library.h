// libnvidia-ml.so.1, found and loaded at run time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu/nvml_api.h"

namespace gpuscaler::nvml {

// Names and paths to try in turn: the loader's own search first, then where drivers put the library
// that are not part of the container.
const std::vector<std::string>& LibraryPlaces();

class Library {
 public:
  // UNAVAILABLE names every place and why it would not do.
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
