// Finds the pod of a process: /proc/PID/cgroup has the names that the kubelet and the container
// runtimes give the control groups of pods.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace gpuscaler {

struct CgroupPod {
  std::string uid;        // the pod's; for a static pod the hash of its file
  std::string container;  // the runtime's id, 64 hexadecimal digits; empty: unknown
  friend bool operator==(const CgroupPod&, const CgroupPod&) = default;
};

// Parses the text of /proc/PID/cgroup, of version 1 or 2. Empty: the process has no pod.
std::optional<CgroupPod> ParseCgroup(absl::string_view text);

// Reads from /proc, once for each process. The start time shows whether another process has taken
// the id of one that ended. Not thread-safe.
class CgroupPods {
 public:
  explicit CgroupPods(std::string proc = "/proc") : proc_(std::move(proc)) {}

  // Returns nothing for a process without a pod, and for an absent one: the ids of the host's
  // processes mean nothing in a pid namespace of our own.
  std::optional<CgroupPod> Find(int64_t pid);

 private:
  struct CachedProcess {
    std::string started;  // clock ticks after boot, from /proc/PID/stat
    std::optional<CgroupPod> pod;
  };

  // The unit is clock ticks after boot. Empty: there is no such process.
  std::string StartTime(int64_t pid) const;

  const std::string proc_;
  std::map<int64_t, CachedProcess> cache_;
};

}  // namespace gpuscaler
