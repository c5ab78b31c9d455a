// Listening sockets of a network: /proc/PID/net/tcp and tcp6.
#pragma once

#include <cstdint>
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

}  // namespace gpuscaler
