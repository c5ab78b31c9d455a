// Finds a pod's name by its uid if no API has it: the kubelet has a folder for the logs of each
// pod, "<namespace>_<name>_<uid>".
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

  // Returns "shop/web-0"; empty: unknown. Reads the folder only for a new uid, and at most every 5
  // s.
  std::string NameOf(const std::string& uid, absl::Time now);

 private:
  void ReadFolder();

  const std::string folder_;
  std::map<std::string, std::string> names_;  // key: uid
  absl::Time read_at_ = absl::InfinitePast();
};

}  // namespace gpuscaler
