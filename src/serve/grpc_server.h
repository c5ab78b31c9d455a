// The gRPC endpoint: address, limits, TLS, health, reflection, and an orderly end.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "rpc/tls_files.h"

namespace grpc {
class Service;
}

namespace gpuscaler {

struct GrpcServerOptions {
  std::string bind_address;  // an IPv4 or IPv6 address, without brackets
  int port = 6000;           // 0: any free one
  TlsFiles tls;              // empty paths: plain text
  absl::Duration max_connection_age = absl::Minutes(10);
  absl::Duration max_connection_age_grace = absl::Minutes(7);
};

// Serving from Start() to Drain(). Thread-safe.
class GrpcServer {
 public:
  // `services` outlive the server. INVALID_ARGUMENT for unusable TLS files, UNAVAILABLE when the
  // address cannot be bound; both say which.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(
      const GrpcServerOptions& options, const std::vector<grpc::Service*>& services);
  ~GrpcServer();

  int port() const;

  // gRPC health of "externalscaler.ExternalScaler"; that of "" is SERVING until Drain().
  void SetScalerServing(bool serving);

  // Reads the TLS files again when they changed; a bad pair keeps the last good one and is the
  // error returned.
  absl::Status ReloadTls();

  // Not ready from now on; RPCs in flight finish, what is left after `patience`, or 2 s, is
  // cancelled.
  void Drain(absl::Duration staleness);

 private:
  class Impl;
  explicit GrpcServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
