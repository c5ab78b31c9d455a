// Who listens in a process's network, read without a look at its connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "discovery/listening_ports.h"

namespace gpuscaler {

// Of /proc/PID/net/sockstat or sockstat6: how many sockets its line "TCP: inuse 3 ..." or
// "TCP6: inuse 0" tells of. Empty: there is no such line.
std::optional<size_t> SocketsInUse(absl::string_view sockstat, absl::string_view protocol);

// IPv4's first. Errors as NetworkIdOf() has them; INVALID_ARGUMENT: a table that is none.
//
// Behind the last listener the kernel looks for connections in a table of the whole machine, 4 ms
// of a core where that has 262144 rows. So it is not asked for more than the sockets there are, and
// not for a second connection.
absl::StatusOr<std::vector<Listener>> ReadListeners(const std::string& proc, int64_t pid);

}  // namespace gpuscaler
