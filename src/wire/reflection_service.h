// gRPC's server reflection, grpc.reflection.v1 and v1alpha: what clients without .proto files call.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "wire/server_call.h"

namespace gpuscaler {

// Serves the descriptors that are linked into the program. Thread-safe. Must outlive the servers
// that have its methods.
//
// A client that does not read costs one answer and a few waiting requests. A call with more of them
// ends with RESOURCE_EXHAUSTED. So does a new call while its address, or all addresses together,
// have too many open.
class ReflectionService {
 public:
  // Lists `services`, such as "grpc.health.v1.Health".
  explicit ReflectionService(std::vector<std::string> services);
  ReflectionService(const ReflectionService&) = delete;
  ReflectionService& operator=(const ReflectionService&) = delete;

  Methods methods();

 private:
  class Handler;

  bool TakePlace(const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_);
  void GiveBackPlace(const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::vector<std::string> services_;
  Mutex mutex_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int> calls_of_ ABSL_GUARDED_BY(mutex_);  // addresses and how many each has
};

}  // namespace gpuscaler
