// The address of a server and the way to connect to it.
#pragma once

#include <string>

#include "page/cidr_block.h"

namespace gpuscaler {

// PEM texts. The keys are secret.
struct TlsIdentity {
  std::string ca;    // authority of the server's certificate; empty: the system's authorities
  std::string cert;  // client certificate for mutual TLS; empty: none
  std::string key;

  friend auto operator<=>(const TlsIdentity&, const TlsIdentity&) = default;
};

struct ServerAddress {
  std::string host;   // in its certificate and the Host header: a name or an IP address
  IpAddress address;  // the only address to connect to, whatever `host` resolves to
  int port = 0;
  bool tls = false;
  TlsIdentity identity;

  friend auto operator<=>(const ServerAddress&, const ServerAddress&) = default;
};

}  // namespace gpuscaler
