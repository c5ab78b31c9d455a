// The gRPC server of a role: its services, health, reflection, TLS from files and draining.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "wire/methods.h"
#include "wire/tls_files.h"
#include "wire/wire_server.h"

namespace gpuscaler {

struct GrpcServerOptions {
  std::string bind_address;  // an IPv4 or IPv6 address, without brackets
  int port = 6000;           // 0: any free one
  TlsFiles tls;              // empty paths: plain text
  SessionLimits limits;
  size_t connections = WireServerOptions().connections;
  absl::Duration max_connection_age = absl::Minutes(10);
  absl::Duration max_connection_age_grace = absl::Minutes(7);
};

// Returns limits above those of ScalerService, so that it can refuse a stream with a reason. They
// allow the deadlines of all streams to pass at once.
SessionLimits ScalerLimits(int max_streams_per_peer);

// Serves from Start() to Drain(). Thread-safe.
class GrpcServer {
 public:
  // All that `methods` use must outlive the server. Returns INVALID_ARGUMENT for unusable TLS files
  // and UNAVAILABLE if the address cannot be bound; the message names the file or address.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const GrpcServerOptions& options,
                                                           Methods methods);
  ~GrpcServer();

  int port() const;
  WireServerCounts counts() const;

  // Sets the gRPC health of "externalscaler.ExternalScaler". That of "" is SERVING until Drain().
  void SetScalerServing(bool serving);

  // Reads the TLS files and uses them if they changed. Returns an error for an unusable pair, and
  // keeps the last good one.
  absl::Status ReloadTls();

  // Health is NOT_SERVING from now on. Blocks until the calls in flight have finished, and cancels
  // those left after `timeout`, 2 s at most.
  void Drain(absl::Duration timeout);

 private:
  class Impl;
  explicit GrpcServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
