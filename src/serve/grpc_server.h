// The gRPC endpoint of a role: its services, health, reflection, TLS from files, an orderly end.
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

// Returns limits with room for the streams of ScalerService, which ends those beyond its own limit
// with a reason: calls must get through to it. The deadlines of all of them may pass together.
SessionLimits ScalerLimits(int max_streams_per_peer);

// Serves from Start() to Drain(). Thread-safe.
class GrpcServer {
 public:
  // The server ends before all that `methods` use. INVALID_ARGUMENT for unusable TLS files,
  // UNAVAILABLE if the address cannot be bound; both name it.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const GrpcServerOptions& options,
                                                           Methods methods);
  ~GrpcServer();

  int port() const;
  WireServerCounts counts() const;

  // gRPC health of "externalscaler.ExternalScaler"; that of "" is SERVING until Drain().
  void SetScalerServing(bool serving);

  // Reads the TLS files again if they have changed. An unusable pair is the error returned; the
  // last good one stays in use.
  absl::Status ReloadTls();

  // Not ready from now on. Blocks until the calls in flight have finished; what is left after
  // `patience`, 2 s at most, is cancelled.
  void Drain(absl::Duration patience);

 private:
  class Impl;
  explicit GrpcServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
