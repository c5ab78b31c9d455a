#include "page/page_fetcher.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <future>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/test_footprint.h"
#include "page/test_http_server.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

PageRequest RequestTo(int port, const std::string& path = "/metrics") {
  return {.host = "127.0.0.1", .port = port, .path = path, .address = *ParseIpAddress("127.0.0.1")};
}

// The pages that were asked for, as they come.
class Pages {
 public:
  PageFetcher::Done Next() {
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

absl::StatusOr<Page> FetchWith(PageFetcher& fetcher, const PageRequest& request) {
  Pages pages;
  fetcher.Fetch(request, pages.Next());
  return pages.WaitFor(1).front();
}

absl::StatusOr<Page> FetchOnce(const PageRequest& request,
                               absl::Duration patience = absl::Seconds(20)) {
  PageFetcher fetcher("pages", {.patience = patience});
  return FetchWith(fetcher, request);
}

absl::Status FaultOf(const TestHttpServer::Handler& handler,
                     absl::Duration patience = absl::Seconds(20)) {
  const TestHttpServer server(handler);
  return FetchOnce(RequestTo(server.port()), patience).status();
}

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

TEST(PageFetcher, BringsThePageAndItsFormat) {
  const TestHttpServer server(Serving([](absl::string_view path) {
    return Answer(path, "application/openmetrics-text; version=1.0.0; charset=utf-8");
  }));
  const auto page = FetchOnce(RequestTo(server.port(), "/metrics?pool=a%20b&x=../y"));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->body, "/metrics?pool=a%20b&x=../y");
  EXPECT_EQ(page->format, PageFormat::kOpenMetrics);
}

TEST(PageFetcher, RequestSaysTheHostAsItIsNamed) {
  std::promise<std::string> received;
  const TestHttpServer server([&](TestHttpConnection& connection) {
    received.set_value(connection.ReadRequest());
    connection.Send(Answer(""));
  });
  PageRequest request = RequestTo(server.port(), "/a/../metrics");
  request.host = "llm.team-a.svc.cluster.local";
  ASSERT_TRUE(FetchOnce(request).ok());
  const std::string head = received.get_future().get();
  EXPECT_THAT(head, StartsWith("GET /a/../metrics HTTP/1.1\r\n"));
  EXPECT_THAT(head, HasSubstr(absl::StrCat("\r\nHost: llm.team-a.svc.cluster.local:", server.port(),
                                           "\r\n")));
  EXPECT_THAT(head, AllOf(Not(HasSubstr("Encoding")), Not(HasSubstr("Cookie")),
                          Not(HasSubstr("Authorization"))));
}

TEST(PageFetcher, BearerTokenIsSentAndNeverRepeated) {
  std::promise<std::string> received;
  const TestHttpServer server([&](TestHttpConnection& connection) {
    received.set_value(connection.ReadRequest());
    connection.Send(EmptyAnswer(401));
  });
  PageRequest request = RequestTo(server.port());
  request.bearer_token = "hunter2";
  const absl::Status refused = FetchOnce(request).status();
  EXPECT_THAT(received.get_future().get(), HasSubstr("\r\nAuthorization: Bearer hunter2\r\n"));
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnauthenticated) << refused;
  EXPECT_THAT(MessageOf(refused), Not(HasSubstr("hunter2")));
}

TEST(PageFetcher, TokenWithALineFeedAddsNoHeader) {
  const TestHttpServer server(Serving([](absl::string_view) { return Answer(""); }));
  PageRequest request = RequestTo(server.port());
  request.bearer_token = "hunter2\r\nHost: other";
  const absl::Status refused = FetchOnce(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_THAT(MessageOf(refused), Not(HasSubstr("hunter2")));
  EXPECT_EQ(server.connections(), 0);
}

TEST(PageFetcher, FaultNamesPlaceAndAddress) {
  PageRequest request = RequestTo(1);
  request.host = "llm.team-a.svc";
  const absl::Status refused = FetchOnce(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(refused.message(), "llm.team-a.svc:1/metrics (127.0.0.1): Connection refused");
}

struct Hostile {
  const char* name;
  std::string says;
  absl::StatusCode code;
  const char* want;
};

TEST(PageFetcher, AnswersThatAreNoPageAreFaultsInPlainWords) {
  const Hostile table[] = {
      {"nothing", "", absl::StatusCode::kUnavailable, "closed the connection without an answer"},
      {"garbage",
       std::string("\0\xff\x7f"
                   "binary\r\n\r\n",
                   13),
       absl::StatusCode::kFailedPrecondition, "its answer is not HTTP"},
      {"loading", EmptyAnswer(503), absl::StatusCode::kUnavailable, "it answers HTTP 503"},
      {"not there", EmptyAnswer(404), absl::StatusCode::kNotFound, "it answers HTTP 404"},
      {"no content", EmptyAnswer(204), absl::StatusCode::kFailedPrecondition,
       "it answers HTTP 204"},
      {"cut off", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour",
       absl::StatusCode::kUnavailable, "its answer was cut off"},
      {"redirect", EmptyAnswer(302, "Location: http://169.254.169.254/latest/meta-data/\r\n"),
       absl::StatusCode::kFailedPrecondition,
       "it answers HTTP 302, to 169.254.169.254: redirects are not followed"},
      {"redirect to a file", EmptyAnswer(301, "Location: file:///etc/passwd\r\n"),
       absl::StatusCode::kFailedPrecondition, "to elsewhere: redirects are not followed"},
      {"announces too much", "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n",
       absl::StatusCode::kResourceExhausted, "its page is larger than 4 MiB"},
      {"compressed", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n",
       absl::StatusCode::kFailedPrecondition, "its page is compressed, unasked"},
      {"many headers",
       "HTTP/1.1 200 OK\r\nX: " + std::string(50'000, 'x') + "\r\nY: " + std::string(50'000, 'y') +
           "\r\n\r\n",
       absl::StatusCode::kFailedPrecondition, "its headers are larger than 65536 bytes"},
  };
  for (const auto& [name, says, code, want] : table) {
    const absl::Status fault = FaultOf(SayingAndClosing(says));
    EXPECT_EQ(fault.code(), code) << name << ": " << fault;
    EXPECT_THAT(MessageOf(fault), HasSubstr(want)) << name;
    EXPECT_THAT(MessageOf(fault), StartsWith("127.0.0.1:")) << name;
  }
}

TEST(PageFetcher, SilenceEndsWithThePatienceAndSaysWhatWasMissing) {
  const std::pair<std::string, const char*> table[] = {
      {"", "no answer within 1s"},
      {"HTTP/1.1 2", "no answer within 1s"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n", "its answer did not end within 1s"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour", "its answer did not end within 1s"},
  };
  for (const auto& [says, want] : table) {
    const absl::Status late = FaultOf(SayingAndHanging(says), absl::Seconds(1));
    EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded) << says << ": " << late;
    EXPECT_THAT(MessageOf(late), HasSubstr(want)) << says;
  }
}

TEST(PageFetcher, ServerThatDripsIsNotWaitedForLongerThanOneThatHangs) {
  const absl::Status late = FaultOf(
      [](TestHttpConnection& connection) {
        connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        while (connection.Send("x")) usleep(1000);
      },
      absl::Milliseconds(100));
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded) << late;
}

TEST(PageFetcher, EndlessBodyEndsAtTheLargestPage) {
  const absl::Status fault = FaultOf([](TestHttpConnection& connection) {
    const std::string megabyte(size_t{1} << 20, 'x');
    connection.Send("HTTP/1.1 200 OK\r\n\r\n");
    while (connection.Send(megabyte)) {
    }
  });
  EXPECT_EQ(fault.code(), absl::StatusCode::kResourceExhausted) << fault;
  EXPECT_THAT(MessageOf(fault), HasSubstr("its page is larger than 4 MiB"));
}

TEST(PageFetcher, LargestPageStillComes) {
  const TestHttpServer server(
      Serving([](absl::string_view) { return Answer(std::string(kLargestPage, 'x')); }));
  const auto page = FetchOnce(RequestTo(server.port()));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->body.size(), kLargestPage);
}

TEST(PageFetcher, ManyLargePagesAtOnceTakeABoundedAmountOfMemory) {
  std::promise<void> enough;
  const std::shared_future<void> end = enough.get_future().share();
  const std::string page = Answer(std::string(kLargestPage, 'x'));
  const TestHttpServer server([&](TestHttpConnection& connection) {
    connection.ReadRequest();
    connection.Send(absl::string_view(page).substr(0, page.size() - 1));
    end.wait();
    connection.Send("x");
  });
  PageFetcher fetcher("pages", {.patience = absl::Hours(1)});
  Pages pages;
  for (int i = 0; i < 20; ++i) fetcher.Fetch(RequestTo(server.port()), pages.Next());
  for (const auto& refused : pages.WaitFor(4)) {  // 64 MiB hold 16 of them
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted) << refused.status();
  }
  enough.set_value();
  pages.WaitFor(20);
  EXPECT_TRUE(FetchWith(fetcher, RequestTo(server.port())).ok()) << "it was all given back";
}

TEST(PageFetcher, NameIsNeverResolvedSoItCannotBeReboundToAnotherAddress) {
  const TestHttpServer wanted(Serving([](absl::string_view) { return Answer("wanted"); }), nullptr,
                              "127.0.0.2");
  PageRequest request = RequestTo(wanted.port());
  request.host = "localhost";  // which is 127.0.0.1 to every resolver
  request.address = *ParseIpAddress("127.0.0.2");
  const auto page = FetchOnce(request);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->body, "wanted");
}

TEST(PageFetcher, AddressesOfOneNameHaveTheirOwnConnections) {
  const auto page_of = [](std::string text) {
    return Serving([text = std::move(text)](absl::string_view) { return Answer(text); });
  };
  const TestHttpServer first(page_of("first"), nullptr, "127.0.0.1");
  PageFetcher fetcher("pages");
  PageRequest request = RequestTo(first.port());
  request.host = "llm";
  EXPECT_EQ(FetchWith(fetcher, request)->body, "first");
  request.address = *ParseIpAddress("127.0.0.3");  // nobody is there: first must not answer
  EXPECT_EQ(FetchWith(fetcher, request).status().code(), absl::StatusCode::kUnavailable);
}

TEST(PageFetcher, ProxiesOfTheEnvironmentAreIgnored) {
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

TEST(PageFetcher, ConnectionIsKeptForTheNextTime) {
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("a 1\n"); }));
  PageFetcher fetcher("pages");
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(FetchWith(fetcher, RequestTo(server.port())).ok());
  EXPECT_EQ(server.connections(), 1);
}

TEST(PageFetcher, ServerThatClosesAfterEachAnswerIsAskedAgainWithoutAFault) {
  const TestHttpServer server(SayingAndClosing(Answer("a 1\n")));
  PageFetcher fetcher("pages");
  for (int i = 0; i < 20; ++i) {
    const auto page = FetchWith(fetcher, RequestTo(server.port()));
    ASSERT_TRUE(page.ok()) << page.status();
  }
}

TEST(PageFetcher, KeptConnectionsAreBounded) {
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("a 1\n"); }), nullptr,
                              "0.0.0.0");
  PageFetcher fetcher("pages", {.patience = absl::Seconds(20), .most_connections = 4});
  for (int i = 1; i <= 20; ++i) {
    PageRequest request = RequestTo(server.port());
    request.address = *ParseIpAddress(absl::StrCat("127.0.0.", i));
    const auto page = FetchWith(fetcher, request);
    ASSERT_TRUE(page.ok()) << page.status();
  }
  EXPECT_EQ(server.connections(), 20);
  const SteadyClock real;
  const absl::Time deadline = real.Now() + absl::Seconds(10);
  while (server.open() > 4 && real.Now() < deadline) usleep(1000);
  EXPECT_LE(server.open(), 4);
}

TEST(PageFetcher, TlsIsVerifiedByTheCaThatIsGiven) {
  const TestCa ca("our CA");
  const TestPair pair = ca.Issue("engine");
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("safe"); }), &pair);
  PageRequest request = RequestTo(server.port());
  request.tls = true;
  request.host = "localhost";
  request.ca_pem = ca.pem();
  const auto page = FetchOnce(request);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->body, "safe");
}

TEST(PageFetcher, OwnCertificateIsShownToAServerThatWantsOne) {
  const TestCa ca("our CA");
  const TestPair pair = ca.Issue("engine");
  const TestPair own = ca.Issue("scaler");
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("safe"); }), &pair,
                              "127.0.0.1", ca.pem());
  PageRequest request = RequestTo(server.port());
  request.tls = true;
  request.ca_pem = ca.pem();
  EXPECT_FALSE(FetchOnce(request).ok()) << "none is shown";
  request.cert_pem = own.cert;
  request.key_pem = own.key;
  const auto page = FetchOnce(request);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->body, "safe");
  request.key_pem = pair.key;
  EXPECT_EQ(FetchOnce(request).status().code(), absl::StatusCode::kInvalidArgument)
      << "the key is another's";
}

TEST(PageFetcher, WrongCertificatesAreRefused) {
  const TestCa ca("our CA");
  const TestCa other("another CA");
  const TestPair good = ca.Issue("engine");
  const TestPair expired = ca.Issue("engine", -absl::Hours(1));
  const auto fault = [&](const TestPair& pair, const std::string& host, const std::string& ca_pem) {
    const TestHttpServer server(Serving([](absl::string_view) { return Answer("safe"); }), &pair);
    PageRequest request = RequestTo(server.port());
    request.tls = true;
    request.host = host;
    request.ca_pem = ca_pem;
    return FetchOnce(request).status();
  };
  EXPECT_THAT(MessageOf(fault(good, "localhost", other.pem())), HasSubstr("its certificate: "));
  EXPECT_THAT(MessageOf(fault(good, "localhost", "")), HasSubstr("its certificate: "));
  EXPECT_THAT(MessageOf(fault(expired, "localhost", ca.pem())),
              HasSubstr("its certificate: certificate has expired"));
  const absl::Status name = fault(good, "llm.team-a.svc", ca.pem());
  EXPECT_THAT(MessageOf(name), HasSubstr("its certificate: no alternative certificate subject name "
                                         "matches target host name 'llm.team-a.svc'"));
  EXPECT_EQ(name.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(fault(good, "localhost", "no PEM").code(), absl::StatusCode::kInvalidArgument);
}

TEST(PageFetcher, HttpAtAPortOfHttpsAndTheOtherWayRoundAreFaults) {
  const TestCa ca("our CA");
  const TestPair pair = ca.Issue("engine");
  const TestHttpServer tls(Serving([](absl::string_view) { return Answer(""); }), &pair);
  EXPECT_FALSE(FetchOnce(RequestTo(tls.port())).ok());
  const TestHttpServer plain(SayingAndClosing("HTTP/1.1 400 Bad Request\r\n\r\n"));
  PageRequest request = RequestTo(plain.port());
  request.tls = true;
  EXPECT_EQ(FetchOnce(request, absl::Milliseconds(200)).status().code(),
            absl::StatusCode::kDeadlineExceeded)
      << "it waits for a head that never comes";
  const TestHttpServer wrong(SayingAndHanging("HTTP/1.1 400 Bad Request\r\n\r\n"));
  request.port = wrong.port();
  EXPECT_THAT(MessageOf(FetchOnce(request).status()), HasSubstr("it may not speak https"));
}

TEST(PageFetcher, OnesThatHangKeepNobodyElseWaiting) {
  const TestHttpServer hanging(SayingAndHanging(""));
  const TestHttpServer good(Serving([](absl::string_view) { return Answer("a 1\n"); }));
  PageFetcher fetcher("pages", {.patience = absl::Hours(1)});
  for (int i = 0; i < 50; ++i) fetcher.Fetch(RequestTo(hanging.port()), [](const auto&) {});
  const auto page = FetchWith(fetcher, RequestTo(good.port()));
  EXPECT_TRUE(page.ok()) << page.status();
}

TEST(PageFetcher, MoreThanMayRunWaitForTheirTurn) {
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  const TestHttpServer server(Serving([&](absl::string_view) {
    const int now = ++running;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
    usleep(20'000);  // the time that others would take to come in
    --running;
    return Answer("a 1\n");
  }));
  PageFetcher fetcher("pages", {.patience = absl::Seconds(20), .most_at_once = 2});
  Pages pages;
  for (int i = 0; i < 6; ++i) fetcher.Fetch(RequestTo(server.port()), pages.Next());
  for (const auto& page : pages.WaitFor(6)) EXPECT_TRUE(page.ok()) << page.status();
  EXPECT_LE(most, 2);
}

TEST(PageFetcher, ATenantWhoseServersHangDoesNotHoldUpAnothers) {
  const TestHttpServer hanging(SayingAndHanging("HTTP/1.1 200 OK\r\n"));
  const TestHttpServer server(Serving([](absl::string_view path) { return Answer(path); }));
  PageFetcher fetcher("pages",
                      {.patience = absl::Hours(1), .most_at_once = 4, .most_of_one_tenant = 2});
  Pages stuck, pages;
  for (int i = 0; i < 20; ++i) fetcher.Fetch(RequestTo(hanging.port()), stuck.Next(), "team-a");
  for (int i = 0; i < 20; ++i) fetcher.Fetch(RequestTo(server.port()), pages.Next(), "team-b");
  for (const auto& page : pages.WaitFor(20)) EXPECT_TRUE(page.ok()) << page.status();
}

TEST(PageFetcher, LargePagesShareMemoryTenantByTenant) {
  const std::string large(size_t{1} << 20, ' ');
  const TestHttpServer server(Serving([&](absl::string_view) { return Answer(large); }));
  // A quarter of it is less than a page takes.
  PageFetcher fetcher("pages", {.patience = absl::Seconds(20),
                                .large_bodies = std::make_shared<LargeBodies>(size_t{3} << 20)});
  const absl::Status fault = FetchWith(fetcher, RequestTo(server.port())).status();
  EXPECT_EQ(fault.code(), absl::StatusCode::kResourceExhausted) << fault;
  PageFetcher roomy("pages", {.patience = absl::Seconds(20),
                              .large_bodies = std::make_shared<LargeBodies>(size_t{9} << 20)});
  for (int i = 0; i < 5; ++i) {
    const auto page = FetchWith(roomy, RequestTo(server.port()));
    EXPECT_TRUE(page.ok()) << page.status();
  }
}

TEST(PageFetcher, TwoHundredAtOnceAllCome) {
  const TestHttpServer server(Serving([](absl::string_view path) { return Answer(path); }));
  PageFetcher fetcher("pages", {.patience = absl::Seconds(20)});
  Pages pages;
  for (int i = 0; i < 200; ++i) {
    fetcher.Fetch(RequestTo(server.port(), absl::StrCat("/", i)), pages.Next());
  }
  for (const auto& page : pages.WaitFor(200)) EXPECT_TRUE(page.ok()) << page.status();
}

TEST(PageFetcher, EndsAtOnceWhateverIsOnItsWay) {
  const TestHttpServer hanging(SayingAndHanging("HTTP/1.1 200 OK\r\n"));
  std::atomic<int> done = 0;
  auto fetcher = std::make_unique<PageFetcher>("pages", FetchLimits{.patience = absl::Hours(1)});
  for (int i = 0; i < 100; ++i)
    fetcher->Fetch(RequestTo(hanging.port()), [&](const auto&) { ++done; });
  const SteadyClock real;
  const absl::Time deadline = real.Now() + absl::Seconds(10);
  while (hanging.open() == 0 && real.Now() < deadline) usleep(1000);
  const absl::Time before = real.Now();
  fetcher.reset();
  EXPECT_LT(real.Now() - before, absl::Seconds(10)) << "and not after its patience";
  EXPECT_EQ(done, 0);
}

TEST(PageFetcher, DoneMayAskForTheNextPage) {
  const TestHttpServer server(Serving([](absl::string_view path) { return Answer(path); }));
  PageFetcher fetcher("pages");
  Pages pages;
  fetcher.Fetch(RequestTo(server.port(), "/1"), [&](const absl::StatusOr<Page>&) {
    fetcher.Fetch(RequestTo(server.port(), "/2"), pages.Next());
  });
  EXPECT_EQ(pages.WaitFor(1).front()->body, "/2");
}

TEST(PageFetcher, TenThousandPagesLeaveNeitherFilesNorMemoryBehind) {
  const TestHttpServer server(Serving([](absl::string_view path) {
    if (path == "/503") return EmptyAnswer(503);
    if (path == "/large") return std::string("HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n");
    return Answer("a 1\n");
  }));
  PageFetcher fetcher("pages", {.patience = absl::Seconds(20)});
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
  const int files = FilesHeld();
  const size_t memory = MemoryHeld();
  fetch(10'000);
  EXPECT_LE(FilesHeld(), files + 20) << "each of the ten has a connection at either end";
  EXPECT_LE(MemoryHeld(), memory + (size_t{1} << 20));
}

}  // namespace
}  // namespace gpuscaler
