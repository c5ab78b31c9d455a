// Fetches metrics from a test server.
//
//   const TestHttpServer server(Serving([](absl::string_view) { return Answer("a 1\n"); }));
//   FetchOnce(RequestTo(server.port()))->body
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "gtest/gtest.h"
#include "page/metrics_fetcher.h"
#include "page/test_http_server.h"

namespace gpuscaler {

inline ScrapeRequest RequestTo(int port, const std::string& path = "/metrics") {
  return {.server = {.host = "127.0.0.1", .address = *ParseIpAddress("127.0.0.1"), .port = port},
          .path = path};
}

// Collects responses as they arrive.
class Pages {
 public:
  MetricsFetcher::Done Next() {
    return [this](absl::StatusOr<Page> page) {
      MutexLock lock(mutex_);
      pages_.push_back(std::move(page));
      changed_.NotifyAll();
    };
  }
  std::vector<absl::StatusOr<Page>> WaitFor(size_t count) {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(30);
    MutexLock lock(mutex_);
    while (pages_.size() < count && real.Now() < deadline) {
      changed_.WaitFor(mutex_, deadline - real.Now());
    }
    EXPECT_GE(pages_.size(), count);
    return pages_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<absl::StatusOr<Page>> pages_ ABSL_GUARDED_BY(mutex_);
};

inline absl::StatusOr<Page> FetchWith(MetricsFetcher& fetcher, const ScrapeRequest& request) {
  Pages pages;
  fetcher.Fetch(request, pages.Next());
  return pages.WaitFor(1).front();
}

inline absl::StatusOr<Page> FetchOnce(const ScrapeRequest& request,
                                      absl::Duration timeout = absl::Seconds(20)) {
  MetricsFetcher fetcher("pages", {.timeout = timeout});
  return FetchWith(fetcher, request);
}

inline absl::Status FaultOf(const TestHttpServer::Handler& handler,
                            absl::Duration timeout = absl::Seconds(20)) {
  const TestHttpServer server(handler);
  return FetchOnce(RequestTo(server.port()), timeout).status();
}

inline std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

}  // namespace gpuscaler
