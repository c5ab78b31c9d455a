// The network namespace of a process, from /proc/PID/net: a pod's own, or the node's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "discovery/listening_ports.h"

namespace gpuscaler {

// Returns an ID that all processes of a network share and no other network has: the inode of
// /proc/PID/net/tcp. Any user may read /proc/PID/net (fs/proc/proc_net.c). /proc/PID/ns/net needs
// the right to trace the process, which root without capabilities does not have.
//
// NOT_FOUND: the process has ended. PERMISSION_DENIED: a policy (SELinux, hidepid) denies access.
absl::StatusOr<uint64_t> NetworkIdOf(const std::string& proc, int64_t pid);

struct NetworkNamespace {
  uint64_t id = 0;
  std::vector<std::string> addresses;  // in the order of NetworkAddresses()
  std::vector<Listener> listeners;
};

// Errors are those of NetworkIdOf(), and INVALID_ARGUMENT for a malformed table.
absl::StatusOr<NetworkNamespace> ReadNetwork(const std::string& proc, int64_t pid);

}  // namespace gpuscaler
