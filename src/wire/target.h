// The server that a client calls.
#pragma once

#include <openssl/ssl.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "wire/refused_handshakes.h"

namespace gpuscaler {

struct Target {
  std::string address;  // "host:port", "[::1]:port" or "unix:/path"
  // Returns ClientTls(). Called on the loop's thread at each attempt, so that new certificates are
  // used from then on; an attempt fails with its error. Null: no TLS.
  std::function<absl::StatusOr<std::shared_ptr<SSL_CTX>>()> tls = nullptr;
  std::string server_name = "";  // must be in the server's certificate; empty: the address's host
  // Receives the DNS names of the server's certificate after each handshake, on the loop's thread.
  std::function<void(std::vector<std::string>)> on_certificate = nullptr;
  std::string source_address = "";  // connects from it; empty: the system's choice
  // A server that sends nothing for `keepalive` during calls gets a PING. If it sends nothing for
  // another `keepalive_timeout`, the connection is closed.
  absl::Duration keepalive = absl::Minutes(1);
  absl::Duration keepalive_timeout = absl::Seconds(20);
  // Bounds connecting to an address together with the TLS handshake, and then the server's first
  // frame. If there are several addresses, each but the last one has 2 s at most.
  absl::Duration connect_timeout = absl::Seconds(20);
};

// Why there is no connection. No call has reached the server.
struct ConnectFault {
  int system_error = 0;                     // errno; 0: another reason
  std::optional<HandshakeFault> handshake;  // why TLS failed
  // The server accepted a connection without TLS, and did not answer with HTTP/2.
  bool is_other_protocol = false;
};

}  // namespace gpuscaler
