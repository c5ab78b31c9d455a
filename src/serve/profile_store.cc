#include "serve/profile_store.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  if (file.good()) return content.str();
  return absl::InvalidArgumentError(absl::StrCat("--profiles: cannot read ", path));
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
  absl::StatusOr<std::string> content = ReadFile(path_);
  MutexLock lock(mutex_);
  if (content.ok() && *content == content_) return absl::OkStatus();
  absl::StatusOr<Profiles> profiles =
      content.ok() ? Parse(path_, *content) : absl::StatusOr<Profiles>(content.status());
  if (!profiles.ok()) {
    const std::string error(profiles.status().message());
    if (error != last_error_) LogWarn("profiles_not_loaded", {{"why", error}});
    last_error_ = error;
    return profiles.status();
  }
  current_ = {.version = current_.version + 1,
              .profiles = std::make_shared<const Profiles>(*std::move(profiles))};
  content_ = *std::move(content);
  last_error_.clear();
  LogInfo("profiles_loaded", {{"path", path_}, {"profiles", current_.profiles->size()}});
  return absl::OkStatus();
}

ProfileStore::Current ProfileStore::Get() const {
  MutexLock lock(mutex_);
  return current_;
}

}  // namespace gpuscaler
