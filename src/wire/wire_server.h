// A gRPC server: a port, its connections and their limits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/jitter.h"
#include "wire/limits.h"
#include "wire/refused_handshakes.h"
#include "wire/server_session.h"
#include "wire/tls_files.h"

namespace gpuscaler {

struct WireServerOptions {
  std::string bind_address;  // an IPv4 or IPv6 address, without brackets, or "unix:/path"
  int port = 0;              // 0: any free one
  std::optional<TlsPems> tls;
  SessionLimits session;
  // All connections together. At the limit a new connection is closed at once. If the address with
  // the most connections has at least two more than the new one's address, its newest connection is
  // closed instead.
  size_t connections = 4'096;
  size_t connections_per_address = 256;
  size_t handshakes_per_address = 128;  // at a time
  // File descriptors that connections leave free for the rest of the process, RLIMIT_NOFILE / 8 at
  // most. Another RLIMIT_NOFILE / 8 stays free for other servers. If a connection would take a
  // reserved one, the server closes it, and the next ones wait in the backlog.
  size_t spare_descriptors = 64;
  absl::Duration connection_age = absl::Minutes(10);
  // The factor of each connection's age, so that clients that connected together do not leave
  // together.
  std::function<double()> age_jitter = [] { return Jitter(0.9, 1.1); };
  absl::Duration connection_age_grace = absl::Minutes(7);
};

struct WireServerCounts {
  size_t connections = 0;   // open
  LimitCounts limits = {};  // connections and calls that a limit refused or ended, by Limit
  std::array<int64_t, kHandshakeFaultCount> handshakes = {};  // refused, by HandshakeFault
};

// Serves from Start() to its end. Has one thread. Thread-safe.
class WireServer {
 public:
  // `methods` are called on the server's thread. Returns INVALID_ARGUMENT if the certificates are
  // unusable or `bind_address` is no IP address, and UNAVAILABLE if it cannot be bound or no file
  // descriptor is left.
  static absl::StatusOr<std::unique_ptr<WireServer>> Start(WireServerOptions options,
                                                           Methods methods);
  ~WireServer();

  int port() const;  // 0: a unix socket

  // New connections use these certificates. Returns INVALID_ARGUMENT, and keeps the present ones,
  // if they are unusable. No effect on a server without TLS.
  absl::Status SetTls(const TlsPems& tls);

  // Connections are those open now. All other counts are since Start().
  WireServerCounts counts() const;

  // Stops accepting, sends GOAWAY, and blocks until all calls have ended, for `timeout` at most.
  // Then closes the remaining connections. Only the first call has an effect.
  void Drain(absl::Duration timeout);

 private:
  class Impl;
  explicit WireServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
