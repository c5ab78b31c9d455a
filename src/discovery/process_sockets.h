// Which sockets a process has open: what tells its ports from those of others in the same network.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/statusor.h"

namespace gpuscaler {

// By their numbers, as Listener::socket. NOT_FOUND: the process has ended. PERMISSION_DENIED: only
// who may trace it learns them: root with SYS_PTRACE, and with DAC_READ_SEARCH besides where the
// process is not root's (proc(5); link by link, so never a part of them).
absl::StatusOr<std::set<uint64_t>> SocketsOf(const std::string& proc, int64_t pid);

}  // namespace gpuscaler
