// gRPC's server reflection, grpc.reflection.v1 and v1alpha: what clients without .proto files call.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "wire/server_call.h"

namespace gpuscaler {

// Serves the descriptors that are linked into the program. Thread-safe. Outlives the servers that
// have its methods.
//
// A client that does not read costs one answer, and a few requests that wait for it: beyond them
// its call ends with RESOURCE_EXHAUSTED, as do calls while too many are open.
class ReflectionService {
 public:
  // Lists `services`, such as "grpc.health.v1.Health".
  explicit ReflectionService(std::vector<std::string> services);
  ReflectionService(const ReflectionService&) = delete;
  ReflectionService& operator=(const ReflectionService&) = delete;

  Methods methods();

 private:
  class Handler;

  const std::vector<std::string> services_;
  std::atomic<int> calls_ = 0;
};

}  // namespace gpuscaler
