// Finds the pod of a process: /proc/PID/cgroup has the names that the kubelet and the container
// runtimes give the control groups of pods.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Returns the pod's UID in the text of /proc/PID/cgroup, of version 1 or 2. The UID of a static pod
// is the hash of its file. Empty: the process has no pod.
std::string PodUidIn(absl::string_view cgroup);

// Reads from /proc, once for each process. The start time shows whether another process has taken
// the id of one that ended. Not thread-safe.
class CgroupPods {
 public:
  explicit CgroupPods(std::string proc = "/proc") : proc_(std::move(proc)) {}

  // Returns PodUidIn() of the process. Empty also if it is absent: the ids of the host's processes
  // mean nothing in a pid namespace of our own.
  std::string PodUidOf(int64_t pid);

 private:
  struct CachedProcess {
    std::string started;  // clock ticks after boot, from /proc/PID/stat
    std::string pod_uid;
  };

  // The unit is clock ticks after boot. Empty: there is no such process.
  std::string StartTime(int64_t pid) const;

  const std::string proc_;
  std::map<int64_t, CachedProcess> cache_;
};

}  // namespace gpuscaler
