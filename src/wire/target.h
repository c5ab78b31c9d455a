// The server that a client calls.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "rpc/refused_handshakes.h"

namespace gpuscaler {

struct Target {
  std::string address;                     // "host:port", "[::1]:port" or "unix:/path"
  std::shared_ptr<SSL_CTX> tls = nullptr;  // ClientTls(); null: no TLS
  std::string server_name = "";  // must be in the server's certificate; empty: the address's host
  absl::Duration keepalive = absl::Minutes(1);  // a server that is silent during calls is pinged
  absl::Duration keepalive_timeout = absl::Seconds(20);  // and has gone if it stays silent
  // Bounds each of connecting, the TLS handshake and the server's first frame.
  absl::Duration connect_timeout = absl::Seconds(20);
};

// Why there is no connection. No call has reached the server.
struct ConnectFault {
  int system_error = 0;                     // errno; 0: another reason
  std::optional<HandshakeFault> handshake;  // why TLS failed
};

}  // namespace gpuscaler
