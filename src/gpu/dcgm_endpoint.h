// Where dcgm-exporter's page is, as the operator of the scaler says.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "page/http_endpoint.h"
#include "page/metrics_fetcher.h"

namespace gpuscaler {

// How its web server is met (--web-config-file): files, read again for each request, so that they
// may be replaced.
struct DcgmAccess {
  std::string ca_file;           // who signs its certificate; empty: the system's authorities
  std::string credentials_file;  // USER:PASSWORD, or a bearer token; empty: it asks for neither
};

// "http://10.0.0.7:9400/metrics"; port 9400 and /metrics where none is written. Any host is
// allowed, for it is no tenant's word. INVALID_ARGUMENT says what is wrong and what is allowed.
absl::StatusOr<HttpEndpoint> ParseDcgmUrl(absl::string_view url);

// One thread's.
class DcgmEndpoint {
 public:
  DcgmEndpoint(HttpEndpoint endpoint, DcgmAccess access);

  // Waits for the page, 2 s for each of at most two addresses, and for the system's resolver where
  // the host is a name. A name that has several addresses of one family is refused: a page of
  // another node would be read.
  absl::StatusOr<Page> Get();

 private:
  absl::StatusOr<std::vector<ScrapeRequest>> Requests() const;
  absl::StatusOr<Page> Fetch(const ScrapeRequest& request);

  const HttpEndpoint endpoint_;
  const DcgmAccess access_;
  MetricsFetcher fetcher_;
};

}  // namespace gpuscaler
