// Limits for reading queues in Redis: interval, timeout and connections.
#pragma once

#include <cstddef>

#include "absl/time/time.h"

namespace gpuscaler {

struct RedisLimits {
  absl::Duration interval = absl::Seconds(1);
  absl::Duration timeout = absl::Seconds(2);  // one complete reading
  // One connection is kept per address, user and database that a namespace's triggers name. A queue
  // that needs one more is not read, and the others are.
  size_t max_connections = 512;
  size_t max_per_namespace = 48;
};

// Connections may use at most a quarter of the process' open files. Each uses three: a socket and a
// pair of libcurl's. A namespace may use a quarter of these connections.
RedisLimits WithinOpenFiles(RedisLimits limits, size_t open_files);

}  // namespace gpuscaler
