// A request for one metrics exposition, and its response.
#pragma once

#include <string>

#include "page/cidr_block.h"
#include "page/prometheus_text.h"

namespace gpuscaler {

// Equal requests have equal responses.
struct ScrapeRequest {
  bool tls = false;
  std::string host;  // in the Host header and the certificate: a name or an IP address
  int port = 80;
  std::string path = "/metrics";  // including its query
  IpAddress address;              // the only address to connect to, whatever `host` resolves to
  std::string bearer_token;       // secret; empty: none
  std::string login;              // secret, "user:password" of basic auth; empty: none
  std::string ca_pem;    // authority of the server's certificate; empty: the system's authorities
  std::string cert_pem;  // client certificate; empty: none
  std::string key_pem;   // secret; private key of cert_pem

  // Returns "llm.team-a.svc:8000/metrics (10.1.2.3)" for messages, without query and secrets.
  std::string Place() const;

  friend auto operator<=>(const ScrapeRequest&, const ScrapeRequest&) = default;
};

struct Page {
  ExpositionFormat format = ExpositionFormat::kText;
  std::string body;
};

}  // namespace gpuscaler
