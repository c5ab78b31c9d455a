// Finds all processes of a pod, on a GPU or not, by a scan of the node's processes.
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
  using ByPod = std::map<std::string, std::vector<int64_t>>;  // key: pod UID

  explicit ProcessScan(std::string proc) : proc_(std::move(proc)) {}

  // Pods without processes are left out. The cgroup of a process is read when it is first seen, and
  // again whenever it is in the result: its PID may have been reused.
  ByPod Find(const std::set<std::string>& uids, absl::Time now);

 private:
  void ScanProc();

  const std::string proc_;
  std::map<int64_t, std::string> uids_;  // pod UID of each process; empty: of no pod
  absl::Time all_read_at_ = absl::InfinitePast();
};

}  // namespace gpuscaler
