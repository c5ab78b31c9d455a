// All processes of a pod, whether they are on a GPU or not: a look at each of the node's.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// Not thread-safe.
class ProcessScan {
 public:
  using ByPod = std::map<std::string, std::vector<int64_t>>;  // the pods' uids

  explicit ProcessScan(std::string proc) : proc_(std::move(proc)) {}

  // A pod without processes is left out. A process' cgroup is read when it is first seen, and again
  // whenever it is one of those asked for: its number may be another's by then.
  ByPod Find(const std::set<std::string>& uids, absl::Time now);

 private:
  void LookForNew();

  const std::string proc_;
  std::map<int64_t, std::string> uids_;  // of each process its pod's; empty: of none
  absl::Time all_read_at_ = absl::InfinitePast();
};

}  // namespace gpuscaler
