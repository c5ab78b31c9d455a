// The interface to the scaler of the demo. The program that runs the demo implements it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "endpoint/endpoint_addresses.h"

namespace gpuscaler {

struct DemoServerOptions {
  std::string gpu_file;
  int port = 0;             // gRPC on loopback; 0: any free one
  absl::Duration interval;  // real time between two readings of each source
  absl::Duration stale_after;
  EndpointAddresses::Options addresses;  // resolve host names
  double clock_speed = 1;                // seconds of the clock per real second
};

// Serves during its lifetime.
class DemoServer {
 public:
  virtual ~DemoServer() = default;
  virtual int grpc_port() const = 0;
};

// Starts a server. Its readings have times of the clock, which must outlive it.
using StartDemoServer = std::function<absl::StatusOr<std::unique_ptr<DemoServer>>(
    const DemoServerOptions&, const Clock&)>;

}  // namespace gpuscaler
