// The URL of a metrics endpoint, as tenants write it in trigger metadata.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

struct HttpEndpoint {
  bool tls = false;         // https
  std::string host;         // lower case; an IPv6 address has no brackets
  std::optional<int> port;  // 1-65535; empty: not given
  std::string path;         // from its "/" on, with the query; empty: not given

  int PortOr(int default_port) const { return port.value_or(default_port); }
  // Returns 80 or 443 if no port is given.
  int PortOfScheme() const { return PortOr(tls ? 443 : 80); }
  // Returns the URL without its query, which may hold a secret.
  std::string Text() const;

  friend auto operator<=>(const HttpEndpoint&, const HttpEndpoint&) = default;
};

// Parses "http://llm:8000/metrics", "https://gateway.infra.svc/metrics?pool=a",
// "http://[fd00::7]:8000". INVALID_ARGUMENT names the mistake and what is allowed. It repeats
// neither a query nor the part before an @. EndpointRules decide whether a tenant may use the host.
absl::StatusOr<HttpEndpoint> ParseHttpEndpoint(absl::string_view url);

// Returns the text for a URL and a Host header: "llm:8000", "[fd00::7]:8000".
std::string HostAndPort(absl::string_view host, int port);

}  // namespace gpuscaler
