// One GET request of a command to a server that its user names: Prometheus, or a running scaler.
// Requests for what tenants name go through MetricsFetcher.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "page/server_address.h"

namespace gpuscaler {

struct HttpGetOptions {
  std::string bearer_token;  // secret; empty: none
  TlsIdentity identity;
  absl::Duration timeout = absl::Minutes(2);
  size_t max_bytes = size_t{64} << 20;
};

struct HttpAnswer {
  int status = 0;  // 200
  std::string body;
};

// Blocks until the answer is complete. Returns the answer with any status. Follows no redirect, and
// uses no proxy. Returns RESOURCE_EXHAUSTED if the body is larger than `max_bytes`. Errors begin
// with the URL without its query.
absl::StatusOr<HttpAnswer> HttpGet(const std::string& url, const HttpGetOptions& options);

}  // namespace gpuscaler
