// The sockets that a process has open. They separate its ports from those of others in the same
// network.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/statusor.h"

namespace gpuscaler {

// The sockets are inode numbers, as in Listener::socket. NOT_FOUND: the process has ended.
// PERMISSION_DENIED: we may not trace it. That takes root with SYS_PTRACE, and DAC_READ_SEARCH if
// the process is not root's (proc(5)). The right is checked for each link, so the result is never
// partial. INTERNAL: any other error.
absl::StatusOr<std::set<uint64_t>> SocketsOf(const std::string& proc, int64_t pid);

}  // namespace gpuscaler
