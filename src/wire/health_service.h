// gRPC's health check, grpc.health.v1: what probes and load balancers call.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "health.pb.h"
#include "wire/server_call.h"

namespace gpuscaler {

// Answers Check, and sends each change of a status to the calls of Watch. A client that does not
// read gets only the newest change. Thread-safe. Must outlive the servers that have its methods.
class HealthService {
 public:
  // "", the server as a whole, is SERVING from the start; no other service is known.
  HealthService();
  HealthService(const HealthService&) = delete;
  HealthService& operator=(const HealthService&) = delete;

  // Makes the service known too. Without effect after Shutdown().
  void SetServing(const std::string& service, bool is_serving) ABSL_LOCKS_EXCLUDED(mutex_);

  // Makes all services NOT_SERVING for good. Ends all watches with OK, those of the future too.
  void Shutdown() ABSL_LOCKS_EXCLUDED(mutex_);

  Methods methods();

 private:
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;

  void Check(ServerCall& call, const std::string& service) ABSL_LOCKS_EXCLUDED(mutex_);
  void BeginWatch(const std::shared_ptr<ServerCall>& call, const std::string& service)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void EndWatch(const std::shared_ptr<ServerCall>& call) ABSL_LOCKS_EXCLUDED(mutex_);
  // SERVICE_UNKNOWN for an unknown one.
  Status StatusOf(const std::string& service) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  bool is_shut_down_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, Status> statuses_ ABSL_GUARDED_BY(mutex_);
  // The service of each watch.
  std::map<std::shared_ptr<ServerCall>, std::string> watches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
