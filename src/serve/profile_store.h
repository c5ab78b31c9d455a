// The profiles in force: the built-in ones, and those of --profiles, reloaded when the file
// changes.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "trigger/profile.h"

namespace gpuscaler {

// Thread-safe.
class ProfileStore {
 public:
  // The version grows by one with each change.
  struct Current {
    int64_t version = 0;
    std::shared_ptr<const Profiles> profiles;
  };

  // If `path` is empty, there are only the built-in profiles.
  explicit ProfileStore(std::string path);

  // Reads the file and parses it if its content changed, as by a ConfigMap's symlink swap. Returns
  // an error for a broken, empty or missing file, and keeps the last good profiles.
  absl::Status Reload();

  Current Get() const;
  bool HasFile() const { return !path_.empty(); }

 private:
  const std::string path_;
  mutable Mutex mutex_;
  Current current_ ABSL_GUARDED_BY(mutex_);
  std::string content_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
