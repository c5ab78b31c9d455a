// From a process to its pod: /proc/PID/cgroup, as the kubelet and the container runtimes name the
// control groups of pods.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace gpuscaler {

struct CgroupPod {
  std::string uid;        // of the pod; of a static pod the hash of its file
  std::string container;  // the runtime's id, 64 hexadecimal digits; empty: not told
  friend bool operator==(const CgroupPod&, const CgroupPod&) = default;
};

// The text of /proc/PID/cgroup, of version 1 or 2; empty for a process of no pod.
std::optional<CgroupPod> ParseCgroup(absl::string_view text);

// Reads them from /proc, each process once: one that has ended and whose number another process
// took is told by its start. Not thread-safe.
class CgroupPods {
 public:
  explicit CgroupPods(std::string proc = "/proc") : proc_(std::move(proc)) {}

  // Empty for a process of no pod, and for one that is not there: numbers of the host's processes
  // mean nothing in a pid namespace of our own.
  std::optional<CgroupPod> Find(int64_t pid);

 private:
  struct Known {
    std::string started;  // clock ticks after boot, as /proc/PID/stat has it
    std::optional<CgroupPod> pod;
  };

  // Of a process that is there; else empty.
  std::string Started(int64_t pid) const;

  const std::string proc_;
  std::map<int64_t, Known> known_;
};

}  // namespace gpuscaler
