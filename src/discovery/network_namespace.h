// The network that a process lives in, by /proc/PID/net: a pod's own, or its node's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "discovery/listening_ports.h"

namespace gpuscaler {

// The same for all processes of a network, another for each network there is. It is the inode of
// /proc/PID/net/tcp: of what /proc/PID/ns/net leads to only those learn who may trace the process,
// which root without capabilities may not; /proc/PID/net is anybody's (fs/proc/proc_net.c).
//
// NOT_FOUND: the process has ended. PERMISSION_DENIED: a policy (SELinux, hidepid) keeps it from
// us.
absl::StatusOr<uint64_t> NetworkIdOf(const std::string& proc, int64_t pid);

struct NetworkNamespace {
  uint64_t id = 0;
  std::vector<std::string> addresses;  // as NetworkAddresses() orders them
  std::vector<Listener> listeners;
};

// As NetworkIdOf(); INVALID_ARGUMENT: a table that is none.
absl::StatusOr<NetworkNamespace> ReadNetwork(const std::string& proc, int64_t pid);

}  // namespace gpuscaler
