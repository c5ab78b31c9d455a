// Sends GET requests for metrics, many at once.
//
//   MetricsFetcher fetcher("engines");
//   fetcher.Fetch(request, [&](absl::StatusOr<Page> page) { ... });
//
// Servers are untrusted. A response may take 2 s, 4 MiB and 64 KiB of headers. A request goes to
// its address and nowhere else: no redirects, proxies, cookies, .netrc or decompression.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "page/response_memory.h"
#include "page/scrape_request.h"

namespace gpuscaler {

struct FetchLimits {
  absl::Duration timeout = absl::Seconds(2);  // from the start to the last byte
  // Concurrent requests; more have to wait. Each hung server occupies one.
  size_t max_concurrent = 256;
  size_t max_per_tenant = 128;  // part of them
  long max_connections = 1024;  // in use or kept alive; idle ones are closed to make room
  // Shared by all fetchers with these limits.
  std::shared_ptr<ResponseMemory> response_memory = std::make_shared<ResponseMemory>();
};

// Thread-safe.
class MetricsFetcher {
 public:
  using Done = std::function<void(absl::StatusOr<Page>)>;

  // `name` is shown by `top -H` for the fetcher's thread.
  explicit MetricsFetcher(const std::string& name, const FetchLimits& limits = {});
  ~MetricsFetcher();  // cancels requests in flight and returns at once; no more `done`
  MetricsFetcher(const MetricsFetcher&) = delete;
  MetricsFetcher& operator=(const MetricsFetcher&) = delete;

  // Calls `done` once, on the fetcher's thread. `done` must not block, because all other requests
  // wait. It may call Fetch(). An error begins with the address of the request (ScrapeTransfer).
  // Without libcurl there is no thread, and `done` is called at once. If requests have to wait,
  // tenants take turns.
  void Fetch(ScrapeRequest request, Done done, const std::string& tenant = "");

 private:
  class Loop;
  const absl::Status loaded_;         // the status of libcurl
  const std::unique_ptr<Loop> loop_;  // null without libcurl
};

}  // namespace gpuscaler
