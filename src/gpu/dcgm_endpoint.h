// The metrics endpoint of dcgm-exporter, as the operator of the scaler configures it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "page/http_endpoint.h"
#include "page/metrics_fetcher.h"

namespace gpuscaler {

// Access to an exporter with --web-config-file. Files are read again for each request, so that they
// may be replaced.
struct DcgmAccess {
  std::string ca_file;           // authority of its certificate; empty: the system's authorities
  std::string credentials_file;  // USER:PASSWORD or a bearer token; empty: none is required
};

// Parses "http://10.0.0.7:9400/metrics". The default port is 9400, the default path /metrics. Any
// host is allowed: the operator sets it, never a tenant. INVALID_ARGUMENT: what is wrong and what
// is allowed.
absl::StatusOr<HttpEndpoint> ParseDcgmUrl(absl::string_view url);

// Not thread-safe.
class DcgmEndpoint {
 public:
  DcgmEndpoint(HttpEndpoint endpoint, DcgmAccess access);

  // Blocks for at most 2 s for each of at most two addresses, and for the system's resolver if the
  // host is a name. FAILED_PRECONDITION: the name has several addresses of one family, so the
  // exposition of another node would be read.
  absl::StatusOr<Page> Get();

 private:
  absl::StatusOr<std::vector<ScrapeRequest>> Requests() const;
  absl::StatusOr<Page> Fetch(const ScrapeRequest& request);

  const HttpEndpoint endpoint_;
  const DcgmAccess access_;
  MetricsFetcher fetcher_;
};

}  // namespace gpuscaler
