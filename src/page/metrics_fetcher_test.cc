#include "page/metrics_fetcher.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/test_fetched_metrics.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(MetricsFetcher, ReturnsThePageAndItsFormat) {
  const TestHttpServer server(Serving([](absl::string_view path) {
    return Answer(path, "application/openmetrics-text; version=1.0.0; charset=utf-8");
  }));
  const auto page = FetchOnce(RequestTo(server.port(), "/metrics?pool=a%20b&x=../y"));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->body, "/metrics?pool=a%20b&x=../y");
  EXPECT_EQ(page->format, ExpositionFormat::kOpenMetrics);
}

TEST(MetricsFetcher, RequestHasTheHostAsConfigured) {
  std::promise<std::string> received;
  const TestHttpServer server([&](TestHttpConnection& connection) {
    received.set_value(connection.ReadRequest());
    connection.Send(Answer(""));
  });
  ScrapeRequest request = RequestTo(server.port(), "/a/../metrics");
  request.server.host = "llm.team-a.svc.cluster.local";
  ASSERT_TRUE(FetchOnce(request).ok());
  const std::string head = received.get_future().get();
  EXPECT_THAT(head, StartsWith("GET /a/../metrics HTTP/1.1\r\n"));
  EXPECT_THAT(head, HasSubstr(absl::StrCat("\r\nHost: llm.team-a.svc.cluster.local:", server.port(),
                                           "\r\n")));
  EXPECT_THAT(head, AllOf(Not(HasSubstr("Encoding")), Not(HasSubstr("Cookie")),
                          Not(HasSubstr("Authorization"))));
}

TEST(MetricsFetcher, BearerTokenIsSentAndNeverRepeated) {
  std::promise<std::string> received;
  const TestHttpServer server([&](TestHttpConnection& connection) {
    received.set_value(connection.ReadRequest());
    connection.Send(EmptyAnswer(401));
  });
  ScrapeRequest request = RequestTo(server.port());
  request.bearer_token = "hunter2";
  const absl::Status refused = FetchOnce(request).status();
  EXPECT_THAT(received.get_future().get(), HasSubstr("\r\nAuthorization: Bearer hunter2\r\n"));
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnauthenticated) << refused;
  EXPECT_THAT(MessageOf(refused), Not(HasSubstr("hunter2")));
}

TEST(MetricsFetcher, TokenWithALineFeedAddsNoHeader) {
  const TestHttpServer server(Serving([](absl::string_view) { return Answer(""); }));
  ScrapeRequest request = RequestTo(server.port());
  request.bearer_token = "hunter2\r\nHost: other";
  const absl::Status refused = FetchOnce(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_THAT(MessageOf(refused), Not(HasSubstr("hunter2")));
  EXPECT_EQ(server.connections(), 0);
}

TEST(MetricsFetcher, HostIsNeverResolvedSoDnsRebindingFails) {
  const TestHttpServer wanted(Serving([](absl::string_view) { return Answer("wanted"); }), nullptr,
                              "127.0.0.2");
  ScrapeRequest request = RequestTo(wanted.port());
  request.server.host = "localhost";  // resolves to 127.0.0.1 everywhere
  request.server.address = *ParseIpAddress("127.0.0.2");
  const auto page = FetchOnce(request);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->body, "wanted");
}

TEST(MetricsFetcher, AddressesOfOneNameHaveTheirOwnConnections) {
  const auto page_of = [](std::string text) {
    return Serving([text = std::move(text)](absl::string_view) { return Answer(text); });
  };
  const TestHttpServer first(page_of("first"), nullptr, "127.0.0.1");
  MetricsFetcher fetcher("pages");
  ScrapeRequest request = RequestTo(first.port());
  request.server.host = "llm";
  EXPECT_EQ(FetchWith(fetcher, request)->body, "first");
  request.server.address =
      *ParseIpAddress("127.0.0.3");  // no server there: `first` must not respond
  EXPECT_EQ(FetchWith(fetcher, request).status().code(), absl::StatusCode::kUnavailable);
}

TEST(MetricsFetcher, ProxiesOfTheEnvironmentAreIgnored) {
  const TestHttpServer proxy(Serving([](absl::string_view) { return Answer("proxy"); }));
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("server"); }));
  const std::string url = absl::StrCat("http://127.0.0.1:", proxy.port());
  const char* const names[] = {"http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"};
  for (const char* name : names) setenv(name, url.c_str(), 1);
  const auto page = FetchOnce(RequestTo(server.port()));
  for (const char* name : names) unsetenv(name);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->body, "server");
  EXPECT_EQ(proxy.connections(), 0);
}

TEST(MetricsFetcher, DestructorCancelsRequestsAtOnce) {
  const TestHttpServer hanging(SendingAndHanging("HTTP/1.1 200 OK\r\n"));
  std::atomic<int> done = 0;
  auto fetcher = std::make_unique<MetricsFetcher>("pages", FetchLimits{.timeout = absl::Hours(1)});
  for (int i = 0; i < 100; ++i)
    fetcher->Fetch(RequestTo(hanging.port()), [&](const auto&) { ++done; });
  const SteadyClock real;
  const absl::Time deadline = real.Now() + absl::Seconds(10);
  while (hanging.open() == 0 && real.Now() < deadline) usleep(1000);
  const absl::Time before = real.Now();
  fetcher.reset();
  EXPECT_LT(real.Now() - before, absl::Seconds(10)) << "not after its timeout";
  EXPECT_EQ(done, 0);
}

TEST(MetricsFetcher, DoneMayFetchAgain) {
  const TestHttpServer server(Serving([](absl::string_view path) { return Answer(path); }));
  MetricsFetcher fetcher("pages");
  Pages pages;
  fetcher.Fetch(RequestTo(server.port(), "/1"), [&](const absl::StatusOr<Page>&) {
    fetcher.Fetch(RequestTo(server.port(), "/2"), pages.Next());
  });
  EXPECT_EQ(pages.WaitFor(1).front()->body, "/2");
}

}  // namespace
}  // namespace gpuscaler
