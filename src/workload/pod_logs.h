// From a pod's uid to its name, where no API tells: the kubelet has a folder for the logs of each
// pod,
// "<namespace>_<name>_<uid>".
#pragma once

#include <map>
#include <string>
#include <utility>

#include "absl/time/time.h"

namespace gpuscaler {

// Not thread-safe.
class PodLogs {
 public:
  explicit PodLogs(std::string folder = "/var/log/pods") : folder_(std::move(folder)) {}

  // "shop/web-0"; empty: not told. Reads the folder only for a uid that it has not seen, and
  // then not again for a while.
  std::string NameOf(const std::string& uid, absl::Time now);

 private:
  void ReadFolder();

  const std::string folder_;
  std::map<std::string, std::string> names_;  // by uid
  absl::Time read_at_ = absl::InfinitePast();
};

}  // namespace gpuscaler
