// GETs pages of metrics, many at once.
//
//   MetricsFetcher fetcher("engines");
//   fetcher.Fetch(request, [&](absl::StatusOr<Page> page) { ... });
//
// What is asked for is a stranger's: an answer takes 2 s, 4 MiB and 64 KiB of headers at most, goes
// to the address that the request names and nowhere else, follows no redirect, knows no proxy, no
// cookie, no .netrc, and decompresses nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "page/large_bodies.h"
#include "page/scrape_request.h"

namespace gpuscaler {

struct FetchLimits {
  absl::Duration timeout = absl::Seconds(2);  // from its start to the last byte
  // More wait for their turn: servers that hang take one of these each.
  size_t most_at_once = 256;
  size_t most_of_one_tenant = 128;  // of those
  long most_connections = 1024;     // in use or kept for the next time; one that is idle gives way
  std::shared_ptr<LargeBodies> large_bodies;  // shared with others; null: its own
};

// Thread-safe.
class MetricsFetcher {
 public:
  using Done = std::function<void(absl::StatusOr<Page>)>;

  // `name` is what `top -H` shows of its thread.
  explicit MetricsFetcher(const std::string& name, const FetchLimits& limits = {});
  ~MetricsFetcher();  // gives up what is on its way, at once: no `done` is called any more
  MetricsFetcher(const MetricsFetcher&) = delete;
  MetricsFetcher& operator=(const MetricsFetcher&) = delete;

  // `done` is called once, on the thread of this, and must not block: all other pages wait. It may
  // call Fetch(). A fault begins with where the page was to be: see ScrapeTransfer. Without libcurl
  // there is no such thread, and it is called at once. `tenant`: for whom it is; where some have to
  // wait, tenants take turns.
  void Fetch(ScrapeRequest request, Done done, const std::string& tenant = "");

 private:
  class Loop;
  const absl::Status loaded_;         // libcurl
  const std::unique_ptr<Loop> loop_;  // null: it is not
};

}  // namespace gpuscaler
