#include "serve/http_server.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serve/test_http_client.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class HttpServerTest : public testing::Test {
 protected:
  // An idle timeout must not close a client before the test ends.
  static constexpr absl::Duration kNever = absl::Hours(1);

  std::unique_ptr<HttpServer> Start(const std::string& address = "127.0.0.1",
                                    int max_connections = HttpServerOptions().max_connections) {
    auto server = HttpServer::Start(
        {.bind_address = address, .max_connections = max_connections, .idle_timeout = kNever},
        {{"/metrics", [] { return HttpReply{.body = "ups 1\n"}; }},
         {"/healthz", [] { return HttpReply{.status = 503, .body = "hangs\n"}; }}});
    EXPECT_TRUE(server.ok()) << server.status();
    return *std::move(server);
  }

  static TestReply MustRequest(const HttpServer& server, absl::string_view method,
                               absl::string_view path) {
    const auto reply = Request(server.port(), method, path);
    EXPECT_TRUE(reply.ok()) << method << " " << path << ": " << reply.status();
    return reply.value_or(TestReply{});
  }
};

TEST_F(HttpServerTest, AnswersEachPathWithItsPageAndStatus) {
  const auto server = Start();
  const TestReply metrics = MustRequest(*server, "GET", "/metrics?format=text");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(metrics.body, "ups 1\n");
  EXPECT_THAT(metrics.head,
              AllOf(HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"),
                    HasSubstr("Content-Length: 6\r\n"), HasSubstr("Cache-Control: no-store\r\n")));
  const TestReply health = MustRequest(*server, "GET", "/healthz");
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(health.body, "hangs\n");
}

TEST_F(HttpServerTest, HeadIsGetWithoutTheBody) {
  const auto server = Start();
  const TestReply reply = MustRequest(*server, "HEAD", "/metrics");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.head, HasSubstr("Content-Length: 6\r\n"));
  EXPECT_EQ(reply.body, "");
}

TEST_F(HttpServerTest, OtherMethodsAreRefusedWithWhatIsAllowed) {
  const auto server = Start();
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "get"}) {
    const TestReply reply = MustRequest(*server, method, "/metrics");
    EXPECT_EQ(reply.status, 405) << method;
    EXPECT_THAT(reply.head, HasSubstr("Allow: GET, HEAD\r\n")) << method;
  }
}

TEST_F(HttpServerTest, UnknownPathListsTheExistingOnes) {
  const auto server = Start();
  for (const char* path : {"/metric", "/metrics/", "/..%2fmetrics", "/metrics%20"}) {
    const TestReply reply = MustRequest(*server, "GET", path);
    EXPECT_EQ(reply.status, 404) << path;
    EXPECT_THAT(reply.body, HasSubstr("/healthz /metrics")) << path;
  }
  const TestReply index = MustRequest(*server, "GET", "/");
  EXPECT_EQ(index.status, 200);
  EXPECT_THAT(index.head, HasSubstr("Content-Type: text/html"));
  EXPECT_THAT(index.body, HasSubstr("<a href=\"/metrics\">"));
}

TEST_F(HttpServerTest, HeadersBeyondTheLimitAreRefused) {
  const auto server = Start();
  const auto connection = TestHttpClient::Open(server->port());
  ASSERT_TRUE(connection.ok()) << connection.status();
  (*connection)->Send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ");
  const std::string piece(1024, 'x');
  for (int kib = 0; kib < 1024 && (*connection)->Send(piece); ++kib) continue;
  const auto reply = (*connection)->ReadAll();
  EXPECT_THAT(reply.value_or("closed without words"), testing::Not(HasSubstr("ups 1")))
      << reply.status();
  EXPECT_EQ(MustRequest(*server, "GET", "/metrics").status, 200);
}

TEST_F(HttpServerTest, EndlessBodyIsNotRead) {
  const auto server = Start();
  const auto connection = TestHttpClient::Open(server->port());
  ASSERT_TRUE(connection.ok()) << connection.status();
  (*connection)->Send("GET /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999\r\n\r\n");
  const auto reply = (*connection)->ReadAll();
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(*reply, StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, OtherProtocolsDoNoHarm) {
  const auto server = Start();
  for (const absl::string_view bytes :
       {absl::string_view("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
        absl::string_view("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), absl::string_view("\0\0\r\n\r\n", 6),
        absl::string_view("GET\r\n\r\n")}) {
    const auto connection = TestHttpClient::Open(server->port());
    ASSERT_TRUE(connection.ok()) << connection.status();
    (*connection)->Send(bytes);
  }
  EXPECT_EQ(MustRequest(*server, "GET", "/metrics").status, 200);
}

TEST_F(HttpServerTest, ServesOnIpv6) {
  const auto server = Start("::1");
  const auto reply = Request(server->port(), "GET", "/metrics", nullptr, "::1");
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->status, 200);
}

TEST_F(HttpServerTest, Ipv6WildcardServesIpv4Too) {
  EXPECT_EQ(MustRequest(*Start("::"), "GET", "/metrics").status, 200);
}

TEST_F(HttpServerTest, TakenPortIsUnavailableAndNamed) {
  const auto server = Start();
  const auto second = HttpServer::Start({.bind_address = "127.0.0.1", .port = server->port()}, {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable) << second.status();
  EXPECT_THAT(second.status().message(),
              HasSubstr("cannot listen on 127.0.0.1:" + std::to_string(server->port())));
}

TEST_F(HttpServerTest, InvalidAddressIsRefused) {
  for (const char* address : {"localhost", "", "1.2.3.4.5", "[::1]"}) {
    const auto server = HttpServer::Start({.bind_address = address}, {});
    EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument) << address;
  }
}

TEST_F(HttpServerTest, PortIsFreeAgainAfterTheEnd) {
  auto server = Start();
  const auto held = TestHttpClient::Open(server->port());
  ASSERT_TRUE(held.ok()) << held.status();
  const int port = server->port();
  server.reset();
  const auto again = HttpServer::Start({.bind_address = "127.0.0.1", .port = port}, {});
  EXPECT_TRUE(again.ok()) << again.status();
}

// Clients that hold their connections: some send nothing, some a byte every millisecond.
class HeldConnections {
 public:
  HeldConnections(int port, int silent, int dripping) {
    for (int i = 0; i < silent + dripping; ++i) {
      auto connection = TestHttpClient::Open(port);
      if (!connection.ok()) ADD_FAILURE() << connection.status();
      if (connection.ok()) (i < silent ? silent_ : dripping_).push_back(*std::move(connection));
    }
    dripper_ = std::thread([this] { Drip(); });
    MutexLock lock(mutex_);
    while (dripped_ < 10) changed_.Wait(mutex_);
  }
  ~HeldConnections() {
    {
      MutexLock lock(mutex_);
      stop_ = true;
    }
    changed_.NotifyAll();
    dripper_.join();
    EXPECT_FALSE(cut_off_) << "a dripping client no longer drips: it held nothing";
  }
  const std::vector<std::unique_ptr<TestHttpClient>>& silent() const { return silent_; }

 private:
  void Drip() {
    const std::string request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Drip: ";
    MutexLock lock(mutex_);
    for (; !stop_; ++dripped_) {
      const char next = dripped_ < request.size() ? request[dripped_] : 'x';
      for (auto& connection : dripping_) {
        if (!connection->Send(absl::string_view(&next, 1))) cut_off_ = true;
      }
      changed_.NotifyAll();
      changed_.WaitFor(mutex_, absl::Milliseconds(1));
    }
  }

  std::vector<std::unique_ptr<TestHttpClient>> silent_, dripping_;
  Mutex mutex_;
  CondVar changed_;
  size_t dripped_ ABSL_GUARDED_BY(mutex_) = 0;  // bytes that each dripping client has sent
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> cut_off_ = false;
  std::thread dripper_;
};

TEST_F(HttpServerTest, AnswersWith80SilentAnd80DrippingClients) {
  const auto server = Start();
  const HeldConnections held(server->port(), 80, 80);
  const SteadyClock clock;
  for (int request = 0; request < 20; ++request) {
    const absl::Time before = clock.Now();
    EXPECT_EQ(MustRequest(*server, "GET", "/metrics").status, 200);
    EXPECT_LT(clock.Now() - before, absl::Seconds(10));  // a blocked server never replies
  }
}

TEST_F(HttpServerTest, IdleConnectionIsClosed) {
  const auto server =
      HttpServer::Start({.bind_address = "127.0.0.1", .idle_timeout = absl::Seconds(1)}, {});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto silent = TestHttpClient::Open((*server)->port());
  ASSERT_TRUE(silent.ok()) << silent.status();
  const auto end = (*silent)->ReadAll();
  EXPECT_EQ(end.value_or("not closed"), "") << end.status();
}

TEST_F(HttpServerTest, OldestConnectionIsClosedBeyondTheLimit) {
  const auto server = Start("127.0.0.1", 8);
  const HeldConnections held(server->port(), 8, 0);
  for (size_t request = 0; request < held.silent().size(); ++request) {
    EXPECT_EQ(MustRequest(*server, "GET", "/metrics").status, 200) << request;
  }
  const auto end = held.silent().front()->ReadAll();
  EXPECT_EQ(end.value_or("not closed"), "") << end.status();
}

}  // namespace
}  // namespace gpuscaler
