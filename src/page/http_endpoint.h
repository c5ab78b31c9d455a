// Where a page of metrics is, as tenants write it in metadata.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

struct HttpEndpoint {
  bool tls = false;         // https
  std::string host;         // lower case; an IPv6 address without its brackets
  std::optional<int> port;  // 1-65535; empty: not written
  std::string path;         // from its "/" on, with the query; empty: not written

  int PortOr(int usual) const { return port.value_or(usual); }
  // 80 or 443.
  int PortOfScheme() const { return PortOr(tls ? 443 : 80); }
  // For people: without the query, which may hold a secret.
  std::string Text() const;

  friend auto operator<=>(const HttpEndpoint&, const HttpEndpoint&) = default;
};

// "http://llm:8000/metrics", "https://gateway.infra.svc/metrics?pool=a", "http://[fd00::7]:8000".
// INVALID_ARGUMENT says what is wrong and what is allowed, and repeats neither what stands before
// an @ nor a query. Whose host it is, EndpointRules judge.
absl::StatusOr<HttpEndpoint> ParseHttpEndpoint(absl::string_view url);

// As it stands in a URL and in a Host header: "llm:8000", "[fd00::7]:8000".
std::string HostAndPort(absl::string_view host, int port);

}  // namespace gpuscaler
