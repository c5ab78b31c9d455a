#include "workload/pod_logs.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kReadAtMostEvery = absl::Seconds(5);

}  // namespace

std::string PodLogs::NameOf(const std::string& uid, absl::Time now) {
  auto found = names_.find(uid);
  if (found == names_.end() && now - read_at_ >= kReadAtMostEvery) {
    read_at_ = now;
    ReadFolder();
    found = names_.find(uid);
  }
  return found == names_.end() ? "" : found->second;
}

// Names have no underscore. A folder that cannot be read adds nothing.
void PodLogs::ReadFolder() {
  names_.clear();
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string folder = entry->path().filename();
    const std::vector<std::string> parts = absl::StrSplit(folder, '_');
    if (parts.size() == 3) names_[parts[2]] = absl::StrCat(parts[0], "/", parts[1]);
  }
}

}  // namespace gpuscaler
