#include "serve/profile_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file_text.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

// An empty file is an error, because it may be a partly written one. A file without profiles has
// "profiles: {}".
absl::StatusOr<std::string> Content(const std::string& path) {
  ASSIGN_OR_RETURN(std::string content, ReadFileText(path));
  if (content.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": is empty"));
  return content;
}

absl::StatusOr<Profiles> Parse(const std::string& path, const std::string& content) {
  auto profiles = ParseProfiles(content);
  if (profiles.ok()) return profiles;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", profiles.status().message()));
}

}  // namespace

ProfileStore::ProfileStore(std::string path) : path_(std::move(path)) {
  current_ = {.version = 1, .profiles = std::make_shared<const Profiles>(BuiltInProfiles())};
}

absl::Status ProfileStore::Reload() {
  if (path_.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::string content, Content(path_));
  MutexLock lock(mutex_);
  if (content == content_) return absl::OkStatus();
  ASSIGN_OR_RETURN(Profiles profiles, Parse(path_, content));
  current_ = {.version = current_.version + 1,
              .profiles = std::make_shared<const Profiles>(std::move(profiles))};
  content_ = std::move(content);
  LogInfo("profiles_loaded", {{"path", path_}, {"profiles", current_.profiles->size()}});
  return absl::OkStatus();
}

ProfileStore::Current ProfileStore::Get() const {
  MutexLock lock(mutex_);
  return current_;
}

}  // namespace gpuscaler
