// The metrics endpoint of an exporter, as the operator of the scaler configures it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "page/http_endpoint.h"
#include "page/metrics_fetcher.h"

namespace gpuscaler {

// Access to an exporter with TLS or a login (dcgm-exporter's --web-config-file). Files are read
// again for each request, so that they may be replaced.
struct ExporterAccess {
  std::string ca_file;           // authority of its certificate; empty: the system's authorities
  std::string credentials_file;  // USER:PASSWORD or a bearer token; empty: none is required
};

// Parses "http://10.0.0.7:9400/metrics". The default path is /metrics. Any host is allowed: the
// operator sets it, never a tenant. INVALID_ARGUMENT: what is wrong and what is allowed.
absl::StatusOr<HttpEndpoint> ParseExporterUrl(absl::string_view url, int default_port);

// Not thread-safe.
class ExporterEndpoint {
 public:
  ExporterEndpoint(HttpEndpoint endpoint, ExporterAccess access);

  // Blocks for at most 2 s for each of at most two addresses, and for the system's resolver if the
  // host is a name. FAILED_PRECONDITION: the name has several addresses of one family, so the
  // exposition of another node would be read.
  absl::StatusOr<Page> Get();

 private:
  absl::StatusOr<std::vector<ScrapeRequest>> Requests() const;
  absl::StatusOr<Page> Fetch(const ScrapeRequest& request);

  const HttpEndpoint endpoint_;
  const ExporterAccess access_;
  MetricsFetcher fetcher_;
};

}  // namespace gpuscaler
