// The network namespace of a process, from /proc/PID/net: a pod's own, or the node's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "signal/listening_ports.h"

namespace gpuscaler {

// Returns an ID that is the same for all processes of a network namespace, and differs between
// namespaces: the inode of /proc/PID/net/tcp. Any user may read /proc/PID/net (fs/proc/proc_net.c).
// /proc/PID/ns/net needs the right to trace the process, which root without capabilities does not
// have. `proc` is the path of the node's /proc.
//
// NOT_FOUND: the process has ended. PERMISSION_DENIED: a policy (SELinux, hidepid) denies access.
// INTERNAL: any other error.
absl::StatusOr<uint64_t> NetworkNamespaceIdOf(const std::string& proc, int64_t pid);

struct NetworkNamespace {
  uint64_t id = 0;
  std::vector<std::string> addresses;  // the likeliest first (NetworkAddresses())
  std::vector<Listener> listeners;
};

// Errors are those of NetworkNamespaceIdOf(), and INVALID_ARGUMENT for a malformed table of
// sockets.
absl::StatusOr<NetworkNamespace> ReadNetworkNamespace(const std::string& proc, int64_t pid);

}  // namespace gpuscaler
