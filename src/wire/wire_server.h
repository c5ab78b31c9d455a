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
  // In all. A further one is closed at once, unless its address has fewer than another one even
  // with it: the newest of the address with the most is closed instead.
  size_t connections = 4'096;
  size_t connections_per_address = 256;
  size_t handshakes_per_address = 128;  // at a time
  // Descriptors left to the rest of the process, an eighth of its limit at most, besides the eighth
  // that other servers may take. While no other is free, new connections wait.
  size_t spare_descriptors = 64;
  absl::Duration connection_age = absl::Minutes(10);
  // A connection's factor for it: clients that connected together do not leave together.
  std::function<double()> age_jitter = [] { return Jitter(0.9, 1.1); };
  absl::Duration connection_age_grace = absl::Minutes(7);
};

struct WireServerCounts {
  size_t connections = 0;   // open
  LimitCounts limits = {};  // connections and calls that a limit refused or ended, by Limit
  std::array<int64_t, kHandshakeFaults> handshakes = {};  // refused, by HandshakeFault
};

// Serves from Start() to its end. Has one thread. Thread-safe.
class WireServer {
 public:
  // `methods` are called on the server's thread. INVALID_ARGUMENT: unusable TLS texts, or what is
  // no address. UNAVAILABLE: the address cannot be bound, or no descriptor is left.
  static absl::StatusOr<std::unique_ptr<WireServer>> Start(WireServerOptions options,
                                                           Methods methods);
  ~WireServer();

  int port() const;  // 0 of a unix socket

  // Connections from now on use them. INVALID_ARGUMENT: unusable; the earlier ones stay in use.
  absl::Status SetTls(const TlsPems& tls);

  // Since Start().
  WireServerCounts counts() const;

  // Closes the port and asks clients to go; blocks until all calls have ended, `patience` at most.
  void Drain(absl::Duration patience);

 private:
  class Impl;
  explicit WireServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
