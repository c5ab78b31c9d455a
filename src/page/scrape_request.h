// One page of metrics: where it is asked for, and what comes back.
#pragma once

#include <string>

#include "page/ip_block.h"
#include "page/prometheus_text.h"

namespace gpuscaler {

// Equal requests have equal answers.
struct ScrapeRequest {
  bool tls = false;
  std::string host;  // of the Host header and the certificate: a name, or an address in figures
  int port = 80;
  std::string path = "/metrics";  // with its query
  IpAddress address;         // what is connected to, and nothing else, whatever `host` resolves to
  std::string bearer_token;  // secret; empty: none
  std::string login;         // secret, "user:password" of basic auth; empty: none
  std::string ca_pem;        // who signs its certificate; empty: the system's authorities
  std::string cert_pem;      // our own certificate; empty: none
  std::string key_pem;       // secret; of cert_pem

  // For people: "llm.team-a.svc:8000/metrics (10.1.2.3)", without query and secrets.
  std::string Place() const;

  friend auto operator<=>(const ScrapeRequest&, const ScrapeRequest&) = default;
};

struct Page {
  ExpositionFormat format = ExpositionFormat::kText;
  std::string body;
};

}  // namespace gpuscaler
