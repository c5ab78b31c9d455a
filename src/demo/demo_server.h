// The scaler that the demo shows, begun by the program that it is part of.
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
  int port = 0;             // gRPC, on loopback; 0: any free one
  absl::Duration interval;  // between two readings of whatever is read, in real time
  absl::Duration stale_after;
  EndpointAddresses::Options addresses;  // what names lead to
  double clock_speed = 1;                // seconds of the clock a real one
};

// Serves from when it is there until it is gone.
class DemoServer {
 public:
  virtual ~DemoServer() = default;
  virtual int grpc_port() const = 0;
};

// The clock, by which it dates what it reads, outlives it.
using StartDemoServer = std::function<absl::StatusOr<std::unique_ptr<DemoServer>>(
    const DemoServerOptions&, const Clock&)>;

}  // namespace gpuscaler
