// The gRPC server of a role: its services, health, reflection, TLS from files and draining.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "wire/health_service.h"
#include "wire/methods.h"
#include "wire/reflection_service.h"
#include "wire/tls_files.h"
#include "wire/wire_server.h"

namespace gpuscaler {

// Returns limits above those of ScalerService, so that it can refuse a stream with a reason. They
// allow the deadlines of all streams to pass at once.
SessionLimits ScalerLimits(int max_streams_per_peer);

// Serves from Start() to Drain(). Thread-safe.
class GrpcServer {
 public:
  // All that `methods` use must outlive the server. `options` must have no TLS; it is that of the
  // files, or none if their paths are empty. Returns INVALID_ARGUMENT for unusable TLS files and
  // UNAVAILABLE if the address cannot be bound; the message names the file or address.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const WireServerOptions& options,
                                                           const TlsFiles& tls, Methods methods);
  ~GrpcServer() { Drain(absl::ZeroDuration()); }

  int port() const { return server_->port(); }
  WireServerCounts counts() const { return server_->counts(); }

  // Sets the gRPC health of "externalscaler.ExternalScaler". That of "" is SERVING until Drain().
  void SetScalerServing(bool serving);

  // Reads the TLS files, and uses those that changed if the read before returned the same. Returns
  // an error for an unusable pair, and keeps the last good one.
  absl::Status ReloadTls();

  // Health is NOT_SERVING from now on. Blocks until the calls in flight have finished, and cancels
  // those left after `timeout`, 2 s at most.
  void Drain(absl::Duration timeout);

 private:
  explicit GrpcServer(const TlsFiles& tls) : tls_reader_(tls) {}
  absl::Status Listen(WireServerOptions options, Methods methods);

  TlsFileReader tls_reader_;
  Mutex mutex_;
  std::optional<TlsPems> tls_ ABSL_GUARDED_BY(mutex_);  // in use
  HealthService health_;
  std::optional<ReflectionService> reflection_;
  std::unique_ptr<WireServer> server_;
};

}  // namespace gpuscaler
