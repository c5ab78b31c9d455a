#include "role/reloader.h"

#include <utility>

#include "base/log.h"

namespace gpuscaler {

Reloader::Reloader(std::vector<Reloadable> files, Metrics& metrics)
    : files_(std::move(files)), metrics_(metrics) {}

void Reloader::Tick() {
  for (const Reloadable& file : files_) {
    const absl::Status status = file.reload();
    const std::string error(status.message());
    std::string& last_error = last_errors_[file.what];
    metrics_.SetReloadFailed(file.what, !status.ok());
    if (error == last_error) continue;
    if (status.ok()) {
      LogInfo("reload_recovered", {{"what", Name(file.what)}});
    } else {
      LogWarn("reload_failed",
              {{"what", Name(file.what)}, {"why", error}, {"kept", "the last good one"}});
    }
    last_error = error;
  }
}

}  // namespace gpuscaler
