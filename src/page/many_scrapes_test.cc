// Many concurrent and successive fetches: resource use and waiting times.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "page/test_fetched_metrics.h"
#include "page/test_footprint.h"

namespace gpuscaler {
namespace {

TEST(ManyPages, TwoHundredConcurrentFetchesSucceed) {
  const TestHttpServer server(Serving([](absl::string_view path) { return Answer(path); }));
  MetricsFetcher fetcher("pages", {.timeout = absl::Seconds(20)});
  Pages pages;
  for (int i = 0; i < 200; ++i) {
    fetcher.Fetch(RequestTo(server.port(), absl::StrCat("/", i)), pages.Next());
  }
  for (const auto& page : pages.WaitFor(200)) EXPECT_TRUE(page.ok()) << page.status();
}

TEST(ManyPages, HungServersDelayNoOthers) {
  const TestHttpServer hanging(SendingAndHanging(""));
  const TestHttpServer good(Serving([](absl::string_view) { return Answer("a 1\n"); }));
  MetricsFetcher fetcher("pages", {.timeout = absl::Hours(1)});
  for (int i = 0; i < 50; ++i) fetcher.Fetch(RequestTo(hanging.port()), [](const auto&) {});
  const auto page = FetchWith(fetcher, RequestTo(good.port()));
  EXPECT_TRUE(page.ok()) << page.status();
}

TEST(ManyPages, FetchesBeyondTheLimitWait) {
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  const TestHttpServer server(Serving([&](absl::string_view) {
    const int now = ++running;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
    usleep(20'000);  // enough for more requests to arrive
    --running;
    return Answer("a 1\n");
  }));
  MetricsFetcher fetcher("pages", {.timeout = absl::Seconds(20), .max_concurrent = 2});
  Pages pages;
  for (int i = 0; i < 6; ++i) fetcher.Fetch(RequestTo(server.port()), pages.Next());
  for (const auto& page : pages.WaitFor(6)) EXPECT_TRUE(page.ok()) << page.status();
  EXPECT_LE(most, 2);
}

TEST(ManyPages, HungServersOfATenantDoNotDelayOtherTenants) {
  const TestHttpServer hanging(SendingAndHanging("HTTP/1.1 200 OK\r\n"));
  const TestHttpServer server(Serving([](absl::string_view path) { return Answer(path); }));
  MetricsFetcher fetcher("pages",
                         {.timeout = absl::Hours(1), .max_concurrent = 4, .max_per_tenant = 2});
  Pages stuck, pages;
  for (int i = 0; i < 20; ++i) fetcher.Fetch(RequestTo(hanging.port()), stuck.Next(), "team-a");
  for (int i = 0; i < 20; ++i) fetcher.Fetch(RequestTo(server.port()), pages.Next(), "team-b");
  for (const auto& page : pages.WaitFor(20)) EXPECT_TRUE(page.ok()) << page.status();
}

TEST(ManyPages, LargeResponsesShareABoundedBudget) {
  std::promise<void> enough;
  const std::shared_future<void> end = enough.get_future().share();
  const std::string page = Answer(std::string(kMaxExpositionBytes, 'x'));
  const TestHttpServer server([&](TestHttpConnection& connection) {
    connection.ReadRequest();
    connection.Send(absl::string_view(page).substr(0, page.size() - 1));
    end.wait();
    connection.Send("x");
  });
  MetricsFetcher fetcher("pages", {.timeout = absl::Hours(1)});
  Pages pages;
  for (int i = 0; i < 20; ++i) fetcher.Fetch(RequestTo(server.port()), pages.Next());
  for (const auto& refused : pages.WaitFor(4)) {  // 64 MiB hold 16 responses
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted) << refused.status();
  }
  enough.set_value();
  pages.WaitFor(20);
  EXPECT_TRUE(FetchWith(fetcher, RequestTo(server.port())).ok()) << "it was all given back";
}

TEST(ManyPages, TenantGetsAtMostAQuarterOfTheBudget) {
  const std::string large(size_t{1} << 20, ' ');
  const TestHttpServer server(Serving([&](absl::string_view) { return Answer(large); }));
  // A quarter of it is too small for the response.
  MetricsFetcher fetcher("pages",
                         {.timeout = absl::Seconds(20),
                          .response_memory = std::make_shared<ResponseMemory>(size_t{3} << 20)});
  const absl::Status fault = FetchWith(fetcher, RequestTo(server.port())).status();
  EXPECT_EQ(fault.code(), absl::StatusCode::kResourceExhausted) << fault;
  MetricsFetcher roomy("pages",
                       {.timeout = absl::Seconds(20),
                        .response_memory = std::make_shared<ResponseMemory>(size_t{9} << 20)});
  for (int i = 0; i < 5; ++i) {
    const auto page = FetchWith(roomy, RequestTo(server.port()));
    EXPECT_TRUE(page.ok()) << page.status();
  }
}

TEST(ManyPages, ConnectionIsReused) {
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("a 1\n"); }));
  MetricsFetcher fetcher("pages");
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(FetchWith(fetcher, RequestTo(server.port())).ok());
  EXPECT_EQ(server.connections(), 1);
}

TEST(ManyPages, ServerThatClosesAfterEachResponseCausesNoError) {
  const TestHttpServer server(SendingAndClosing(Answer("a 1\n")));
  MetricsFetcher fetcher("pages");
  for (int i = 0; i < 20; ++i) {
    const auto page = FetchWith(fetcher, RequestTo(server.port()));
    ASSERT_TRUE(page.ok()) << page.status();
  }
}

TEST(ManyPages, IdleConnectionsAreBounded) {
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("a 1\n"); }), nullptr,
                              "0.0.0.0");
  MetricsFetcher fetcher("pages", {.timeout = absl::Seconds(20), .max_connections = 4});
  for (int i = 1; i <= 20; ++i) {
    ScrapeRequest request = RequestTo(server.port());
    request.server.address = *ParseIpAddress(absl::StrCat("127.0.0.", i));
    const auto page = FetchWith(fetcher, request);
    ASSERT_TRUE(page.ok()) << page.status();
  }
  EXPECT_EQ(server.connections(), 20);
  const SteadyClock real;
  const absl::Time deadline = real.Now() + absl::Seconds(10);
  while (server.open() > 4 && real.Now() < deadline) usleep(1000);
  EXPECT_LE(server.open(), 4);
}

TEST(ManyPages, TenThousandFetchesLeakNeitherFilesNorMemory) {
  const TestHttpServer server(Serving([](absl::string_view path) {
    if (path == "/503") return EmptyAnswer(503);
    if (path == "/large") return std::string("HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n");
    return Answer("a 1\n");
  }));
  MetricsFetcher fetcher("pages", {.timeout = absl::Seconds(20)});
  const auto fetch = [&](int count) {
    const char* const paths[] = {"/metrics", "/metrics", "/metrics", "/metrics", "/metrics",
                                 "/metrics", "/metrics", "/metrics", "/503",     "/large"};
    for (int i = 0; i < count; i += 10) {
      Pages pages;
      for (const char* path : paths) fetcher.Fetch(RequestTo(server.port(), path), pages.Next());
      const auto came = pages.WaitFor(10);
      const auto is_page = [](const absl::StatusOr<Page>& page) { return page.ok(); };
      ASSERT_EQ(std::ranges::count_if(came, is_page), 8);
    }
  };
  fetch(1000);
  const int files = OpenFiles();
  const size_t memory = AllocatedBytes();
  fetch(10'000);
  EXPECT_LE(OpenFiles(), files + 20) << "each of the ten has a connection at either end";
  EXPECT_LE(AllocatedBytes(), memory + (size_t{1} << 20));
}

}  // namespace
}  // namespace gpuscaler
