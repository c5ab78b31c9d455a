// How often and how long queues in Redis are read, and over how many connections.
#pragma once

#include <cstddef>

#include "absl/time/time.h"

namespace gpuscaler {

struct RedisLimits {
  absl::Duration interval = absl::Seconds(1);
  absl::Duration timeout = absl::Seconds(2);  // for all of a reading (DESIGN 6)
  // One is kept for each address, user and database that a namespace's triggers name. A queue that
  // would take another one is not read; those that are go on.
  size_t most_connections = 512;
  size_t most_of_namespace = 48;
};

// No more connections than take a quarter of the files that the process may have open, three each:
// a socket, and a pair of libcurl's. A namespace has a quarter of those at most.
RedisLimits WithinOpenFiles(RedisLimits limits, size_t open_files);

}  // namespace gpuscaler
