#include "redis/redis_limits.h"

#include <algorithm>

namespace gpuscaler {

RedisLimits WithinOpenFiles(RedisLimits limits, size_t open_files) {
  constexpr size_t kFilesOfConnection = 3;
  const size_t most = std::max(open_files / 4 / kFilesOfConnection, size_t{1});
  limits.max_connections = std::min(limits.max_connections, most);
  limits.max_per_namespace = std::min(limits.max_per_namespace, std::max(most / 4, size_t{1}));
  return limits;
}

}  // namespace gpuscaler
