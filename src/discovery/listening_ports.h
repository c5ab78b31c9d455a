// Who listens in a network: /proc/PID/net/tcp and tcp6.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

struct Listener {
  std::string address;  // "10.1.2.3"; "0.0.0.0", "::": every one of the network's
  int port = 0;
  uint64_t socket = 0;  // its number, as /proc/PID/fd has it: "socket:[1508]"

  friend bool operator==(const Listener&, const Listener&) = default;
};

// Those of one table, in its order. The text may end anywhere: the kernel lists who listens before
// it lists connections, so the beginning of a long table will do. INVALID_ARGUMENT names a row that
// is none, rather than to say that nobody listens.
absl::StatusOr<std::vector<Listener>> ParseListeners(absl::string_view table);

}  // namespace gpuscaler
