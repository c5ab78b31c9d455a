// The profiles in force: built in, and those of --profiles, read again when the file changes.
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
  // A version counts up by one with each change; what was parsed with an equal one is still right.
  struct Current {
    int64_t version = 0;
    std::shared_ptr<const Profiles> profiles;
  };

  // `path` empty: the built-in profiles alone, for ever.
  explicit ProfileStore(std::string path);

  // Reads the file when its content changed; a ConfigMap's symlink swap counts as a change. One
  // that is broken, empty or missing keeps the last good profiles and is the error returned.
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
