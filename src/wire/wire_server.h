// A gRPC server: a port, its connections and their limits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "rpc/tls_files.h"
#include "wire/server_session.h"

namespace gpuscaler {

struct WireServerOptions {
  std::string bind_address;  // an IPv4 or IPv6 address, without brackets, or "unix:/path"
  int port = 0;              // 0: any free one
  std::optional<TlsPems> tls;
  SessionLimits session;
  size_t unfinished_message_bytes = size_t{32} << 20;  // all connections together
  size_t connections = 4'096;                          // in all; further ones are closed at once
  size_t connections_per_address = 256;
  absl::Duration connection_age = absl::Minutes(10);
  absl::Duration connection_age_grace = absl::Minutes(7);
};

// Serves from Start() to its end. Has one thread. Thread-safe.
class WireServer {
 public:
  // `methods` are called on the server's thread. INVALID_ARGUMENT: unusable TLS texts, or what is
  // no address. UNAVAILABLE: the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<WireServer>> Start(WireServerOptions options,
                                                           Methods methods);
  ~WireServer();

  int port() const;  // 0 of a unix socket

  // Connections from now on use them. INVALID_ARGUMENT: unusable; the earlier ones stay in use.
  absl::Status SetTls(const TlsPems& tls);

  // Closes the port and asks clients to go; blocks until all calls have ended, `patience` at most.
  void Drain(absl::Duration patience);

 private:
  class Impl;
  explicit WireServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
