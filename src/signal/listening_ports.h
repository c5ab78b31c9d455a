// The listening sockets of a process's network: /proc/PID/net/tcp and tcp6.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

struct Listener {
  std::string address;  // "10.1.2.3"; "0.0.0.0", "::": all of the network's
  int port = 0;
  uint64_t socket = 0;  // inode number, as in /proc/PID/fd: "socket:[1508]"

  friend bool operator==(const Listener&, const Listener&) = default;
};

// The order is that of the table. The text may be truncated anywhere: the kernel lists listeners
// before connections, so the beginning of a long table suffices. INVALID_ARGUMENT names a malformed
// row, which must not pass for an empty table.
absl::StatusOr<std::vector<Listener>> ParseListeners(absl::string_view table);

// Returns the socket count in the line "TCP: inuse 3 ..." or "TCP6: inuse 0" of
// /proc/PID/net/sockstat or sockstat6, or nothing if there is no such line.
std::optional<size_t> SocketsInUse(absl::string_view sockstat, absl::string_view protocol);

// IPv4 listeners come first. Errors are those of NetworkNamespaceIdOf(), and INVALID_ARGUMENT for a
// malformed table.
//
// After the last listener the kernel searches a machine-wide table for connections, which takes 4
// ms of CPU time with 262144 rows. So no more rows are read than there are sockets, and never a
// second connection.
absl::StatusOr<std::vector<Listener>> ReadListeners(const std::string& proc, int64_t pid);

}  // namespace gpuscaler
