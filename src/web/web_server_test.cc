#include "web/web_server.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/test_eventually.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "web/gzip.h"
#include "web/test_web_client.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kPolicy[] = "default-src 'none'";
// More than the kernel buffers for a client that does not read.
constexpr size_t kHugeBytes = size_t{32} << 20;

class WebServerTest : public testing::Test {
 protected:
  WebServerTest() {
    options_.http.bind_address = "127.0.0.1";
    options_.http.idle_timeout = absl::Hours(1);
    options_.access.bind_address = "127.0.0.1";
    options_.events.tick = absl::Milliseconds(10);
    options_.events.least_interval = absl::ZeroDuration();
    options_.content_security_policy = kPolicy;
  }

  void Start() {
    auto server = WebServer::Start(
        options_, [this](const WebRequest& request) { return Handle(request); },
        [this](int64_t since) { return NextEvents(since); });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  WebReply Handle(const WebRequest& request) {
    if (request.path == "/block") {
      MutexLock lock(mutex_);
      ++blocked_;
      changed_.NotifyAll();
      while (!released_) changed_.Wait(mutex_);
      return JsonReply("\"released\"");
    }
    if (request.path == "/") return JsonReply("\"page\"");
    if (request.path == "/large") return JsonReply(large_);
    if (request.path == "/huge") return JsonReply(std::string(kHugeBytes, 'x'));
    if (request.path == "/shared") return {.body = shared_, .gzip = nullptr};
    if (request.path == "/query") {
      std::string text;
      for (const auto& [name, value] : request.query) {
        absl::StrAppend(&text, name, "=", value, ";");
      }
      return JsonReply(text);
    }
    return ErrorReply(absl::NotFoundError("no such page"));
  }

  EventBatch NextEvents(int64_t since) {
    MutexLock lock(mutex_);
    if (since >= version_) return {.version = since, .text = nullptr};
    return {.version = version_, .text = event_};
  }

  void Publish(std::string text) {
    MutexLock lock(mutex_);
    ++version_;
    event_ = std::make_shared<const std::string>(std::move(text));
  }

  void Release() {
    MutexLock lock(mutex_);
    released_ = true;
    changed_.NotifyAll();
  }

  void AwaitBlocked(int count) {
    MutexLock lock(mutex_);
    while (blocked_ < count) changed_.Wait(mutex_);
  }

  // Starts the server and its clients. Blocks until as many requests run and wait as may.
  void BlockHandlers() {
    options_.http.max_connections = kRequests;
    Start();
    for (int i = 0; i < kRequests; ++i) {
      if (i == kRunning) AwaitBlocked(kRunning);
      clients_.emplace_back([this, port = server_->port()] {
        const auto reply = TryGet(port, "/block");
        ++(!reply.ok() ? closed_ : reply->status == 503 ? refused_ : served_);
      });
    }
    EXPECT_TRUE(Eventually([&] { return refused_ == kRequests - kRunning - kWaiting; }));
  }

  void JoinClients() {
    for (std::thread& client : clients_) client.join();
  }

  std::unique_ptr<TestHttpClient> Connect() const {
    auto client = TestHttpClient::Open(server_->port());
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  // Returns a client that has sent a request, and has read nothing of the reply.
  std::unique_ptr<TestHttpClient> SendRequest(const std::string& path) const {
    auto client = Connect();
    client->Send(RequestText(path));
    return client;
  }

  std::unique_ptr<TestHttpClient> OpenStream() const { return SendRequest(WebServer::kEventsPath); }

  // Blocks until so many streams are open.
  void AwaitStreams(int count) const {
    EXPECT_TRUE(Eventually([&] { return server_->open_streams() == count; })) << count;
  }

  // Blocks until so many bytes of replies are not read.
  void AwaitUnread(size_t bytes) const {
    EXPECT_TRUE(Eventually([&] { return server_->unread_bytes() == bytes; })) << bytes;
  }

  // Returns what the stream has sent once that includes `text`.
  static std::string ReadUntil(TestHttpClient& client, const std::string& text) {
    std::string all;
    size_t searched = 0;
    while (all.find(text, searched) == std::string::npos) {
      searched = all.size() - std::min(all.size(), text.size());
      const auto more = client.ReadSome();
      if (!more.ok() || more->empty()) {
        ADD_FAILURE() << "no \"" << text << "\" in " << all.size() << " bytes: " << more.status();
        break;
      }
      all += *more;
    }
    return all;
  }

  static constexpr int kRequests = 40, kRunning = 2, kWaiting = 32;

  const TestFolder folder_;
  const std::string large_ = std::string(100'000, 'x');
  std::shared_ptr<const std::string> shared_;
  WebServerOptions options_;
  std::unique_ptr<WebServer> server_;
  Mutex mutex_;
  CondVar changed_;
  int blocked_ ABSL_GUARDED_BY(mutex_) = 0;
  bool released_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t version_ ABSL_GUARDED_BY(mutex_) = 1;
  std::shared_ptr<const std::string> event_ ABSL_GUARDED_BY(mutex_) =
      std::make_shared<const std::string>("data: first\n\n");
  std::vector<std::thread> clients_;
  std::atomic<int> served_ = 0, refused_ = 0, closed_ = 0;
};

TEST_F(WebServerTest, RepliesHaveTheHeadersThatRestrictBrowsers) {
  Start();
  const auto restricted =
      AllOf(HasSubstr("Content-Security-Policy: default-src 'none'\r\n"),
            HasSubstr("X-Content-Type-Options: nosniff\r\n"),
            HasSubstr("Referrer-Policy: no-referrer\r\n"),
            HasSubstr("Cross-Origin-Resource-Policy: same-origin\r\n"),
            HasSubstr("Cache-Control: no-store\r\n"), Not(HasSubstr("Set-Cookie")),
            Not(HasSubstr("Access-Control-Allow")));
  for (const char* path : {"/query", "/none", "/large"}) {
    EXPECT_THAT(MustGet(server_->port(), path).head, restricted) << path;
  }
  EXPECT_THAT(MustGet(server_->port(), "/query", {{"Host", "evil.example"}}).head, restricted);
  const auto stream = OpenStream();
  EXPECT_THAT(ReadUntil(*stream, "first"), AllOf(restricted, HasSubstr("text/event-stream")));
}

TEST_F(WebServerTest, QueryIsDecoded) {
  Start();
  EXPECT_EQ(MustGet(server_->port(), "/query?trigger=a%2Fb%20c+d&at=1.5&empty").body,
            "at=1.5;empty=;trigger=a/b c d;");
}

TEST_F(WebServerTest, ErrorsAreJsonWithTheirStatus) {
  Start();
  const TestReply missing = MustGet(server_->port(), "/none");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body, "{\"error\":\"no such page\"}");
  const auto posted = Request(server_->port(), "POST", "/query");
  ASSERT_TRUE(posted.ok()) << posted.status();
  EXPECT_EQ(posted->status, 405);
  EXPECT_THAT(posted->head, HasSubstr("Allow: GET, HEAD\r\n"));
}

TEST_F(WebServerTest, HeadHasNoBody) {
  Start();
  const auto reply = Request(server_->port(), "HEAD", "/large");
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->body, "");
  EXPECT_THAT(reply->head, HasSubstr("Content-Length: 100000\r\n"));
}

TEST_F(WebServerTest, LargeRepliesAreCompressedForClientsThatAcceptIt) {
  Start();
  const TestReply plain = MustGet(server_->port(), "/large");
  EXPECT_EQ(plain.body, large_);
  const TestReply packed = MustGet(server_->port(), "/large", {{"Accept-Encoding", "gzip, br"}});
  EXPECT_THAT(packed.head, HasSubstr("Content-Encoding: gzip\r\n"));
  EXPECT_LT(packed.body.size(), large_.size() / 10);
  EXPECT_EQ(Gunzip(packed.body, large_.size()).value_or(""), large_);
}

TEST_F(WebServerTest, OtherHostsNamesAreRefused) {
  options_.access.hosts = {"scaler.example"};
  Start();
  for (const char* host : {"localhost", "LOCALHOST:8082", "127.0.0.1:1", "[::1]:8082",
                           "scaler.example", "scaler.example:443"}) {
    EXPECT_EQ(MustGet(server_->port(), "/query", {{"Host", host}}).status, 200) << host;
  }
  for (const char* host : {"evil.example", "localhost.evil.example", "127.0.0.2", "[::1",
                           "localhost:80x", "localhost:80:80", "@localhost"}) {
    EXPECT_EQ(MustGet(server_->port(), "/query", {{"Host", host}}).status, 403) << host;
    EXPECT_EQ(MustGet(server_->port(), WebServer::kEventsPath, {{"Host", host}}).status, 403)
        << host;
  }
}

TEST_F(WebServerTest, PagesOfOtherSitesAreRefused) {
  Start();
  for (const char* site : {"same-origin", "none"}) {
    EXPECT_EQ(MustGet(server_->port(), "/query", {{"Sec-Fetch-Site", site}}).status, 200) << site;
  }
  for (const char* site : {"cross-site", "same-site"}) {
    EXPECT_EQ(MustGet(server_->port(), "/query", {{"Sec-Fetch-Site", site}}).status, 403) << site;
    EXPECT_EQ(MustGet(server_->port(), WebServer::kEventsPath, {{"Sec-Fetch-Site", site}}).status,
              403)
        << site;
    EXPECT_EQ(MustGet(server_->port(), "/", {{"Sec-Fetch-Site", site}}).status, 200)
        << "a link to the page";
  }
  EXPECT_EQ(server_->open_streams(), 0);
}

TEST_F(WebServerTest, TokenIsRequiredIfThereIsOneAndMayChange) {
  options_.access.token_file = folder_.Write("token", "0123456789abcdef\n");
  Start();
  const auto status = [&](const std::string& authorization) {
    return MustGet(server_->port(), "/query", {{"Authorization", authorization}}).status;
  };
  const TestReply none = MustGet(server_->port(), "/query");
  EXPECT_EQ(none.status, 401);
  EXPECT_THAT(none.head, HasSubstr("WWW-Authenticate: Bearer\r\n"));
  EXPECT_EQ(MustGet(server_->port(), WebServer::kEventsPath).status, 401);
  EXPECT_EQ(MustGet(server_->port(), "/none").status, 401);
  EXPECT_EQ(MustGet(server_->port(), "/").status, 200) << "the page asks for the token";
  EXPECT_EQ(status("Bearer 0123456789abcdef"), 200);
  for (const char* wrong : {"Bearer", "Bearer ", "Bearer 0123456789abcde", "0123456789abcdef",
                            "Bearer 0123456789abcdefg", "Basic 0123456789abcdef"}) {
    EXPECT_EQ(status(wrong), 401) << wrong;
  }
  folder_.Write("token", "fedcba9876543210");
  EXPECT_TRUE(server_->ReloadToken().ok());
  EXPECT_EQ(status("Bearer 0123456789abcdef"), 401);
  EXPECT_EQ(status("Bearer fedcba9876543210"), 200);
  folder_.Write("token", "short");
  EXPECT_THAT(server_->ReloadToken().message(), HasSubstr("at least 16"));
  EXPECT_EQ(status("Bearer fedcba9876543210"), 200) << "the last good one counts";
}

TEST_F(WebServerTest, UnusableTokenFileStopsTheStart) {
  for (const char* text : {"", "short", "two words are no token", "0123456789abcde\x01"}) {
    options_.access.token_file = folder_.Write("token", text);
    const auto server = WebServer::Start(
        options_, [](const WebRequest&) { return JsonReply("1"); },
        [](int64_t) { return EventBatch(); });
    EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST_F(WebServerTest, SlowHandlerDelaysNoOtherRequest) {
  Start();
  std::thread slow([&] { EXPECT_EQ(MustGet(server_->port(), "/block").body, "\"released\""); });
  AwaitBlocked(1);
  EXPECT_EQ(MustGet(server_->port(), "/query").status, 200);
  Release();
  slow.join();
}

TEST_F(WebServerTest, TooManyWaitingRequestsAreRefused) {
  BlockHandlers();
  EXPECT_EQ(served_, 0);
  Release();
  JoinClients();
  EXPECT_EQ(served_, kRunning + kWaiting);
  EXPECT_EQ(closed_, 0);
}

TEST_F(WebServerTest, ReplyIsRefusedWhileTooManyBytesAreUnread) {
  options_.most_unread_bytes = kHugeBytes + kHugeBytes / 2;
  Start();
  auto slow = SendRequest("/huge");
  AwaitUnread(kHugeBytes);
  const TestReply refused = MustGet(server_->port(), "/huge");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("slow clients"));
  EXPECT_EQ(server_->refused_replies(), 1);
  EXPECT_EQ(MustGet(server_->port(), "/query").status, 200) << "a small reply";
  EXPECT_EQ(MustGet(server_->port(), "/none").status, 404);
  slow = nullptr;
  AwaitUnread(0);
  EXPECT_EQ(MustGet(server_->port(), "/huge").body.size(), kHugeBytes);
  EXPECT_EQ(server_->refused_replies(), 1);
}

TEST_F(WebServerTest, ReplyThatWasReadNoLongerCounts) {
  options_.most_unread_bytes = kHugeBytes;
  Start();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(MustGet(server_->port(), "/huge").status, 200) << i;
    AwaitUnread(0);
  }
}

TEST_F(WebServerTest, UnreadBytesOfASharedReplyCountOnce) {
  options_.most_unread_bytes = kHugeBytes;
  shared_ = std::make_shared<const std::string>(kHugeBytes, 'x');
  Start();
  const auto first = SendRequest("/shared");
  AwaitUnread(kHugeBytes);
  const auto second = SendRequest("/shared");
  EXPECT_EQ(MustGet(server_->port(), "/shared").body.size(), kHugeBytes);
  EXPECT_EQ(server_->unread_bytes(), kHugeBytes);
  EXPECT_EQ(MustGet(server_->port(), "/huge").status, 503) << "other bytes";
}

TEST_F(WebServerTest, UnreadRepliesEndWithTheServer) {
  Start();
  const auto slow = SendRequest("/huge");
  AwaitUnread(kHugeBytes);
  server_ = nullptr;
  EXPECT_TRUE(slow->ReadAll().ok());
}

TEST_F(WebServerTest, NewConnectionsCloseTheOldestThatIsNoStream) {
  options_.http.max_connections = 4;
  Start();
  const auto stream = OpenStream();
  ReadUntil(*stream, "first");
  std::vector<std::unique_ptr<TestHttpClient>> idle;
  for (int i = 0; i < 5; ++i) idle.push_back(Connect());
  EXPECT_EQ(MustGet(server_->port(), "/query").status, 200);
  EXPECT_EQ(idle.front()->ReadAll().value_or("not closed"), "");
  Publish("data: second\n\n");
  ReadUntil(*stream, "second");
}

TEST_F(WebServerTest, StreamGetsTheStateAndThenTheChanges) {
  Start();
  const auto stream = OpenStream();
  EXPECT_THAT(ReadUntil(*stream, "first"), HasSubstr("data: first\n\n"));
  Publish("data: second\n\n");
  EXPECT_THAT(ReadUntil(*stream, "second"), Not(HasSubstr("first")));
}

TEST_F(WebServerTest, SilentStreamIsKeptAlive) {
  options_.events.keep_alive = absl::Milliseconds(20);
  Start();
  const auto stream = OpenStream();
  ReadUntil(*stream, "first");
  EXPECT_THAT(ReadUntil(*stream, ": keepalive\n\n"), Not(HasSubstr("data")));
}

TEST_F(WebServerTest, SeventeenthStreamIsRefusedUntilOneCloses) {
  options_.http.max_connections = 64;
  Start();
  std::vector<std::unique_ptr<TestHttpClient>> streams;
  for (int i = 0; i < options_.events.most; ++i) {
    streams.push_back(OpenStream());
    ReadUntil(*streams.back(), "first");
  }
  EXPECT_EQ(MustGet(server_->port(), WebServer::kEventsPath).status, 503);
  EXPECT_EQ(MustGet(server_->port(), "/query").status, 200);
  streams.pop_back();
  AwaitStreams(options_.events.most - 1);
  const auto stream = OpenStream();
  ReadUntil(*stream, "first");
}

TEST_F(WebServerTest, SlowStreamDelaysNoOtherAndMissesNothingNew) {
  Start();
  const auto slow = OpenStream();
  ReadUntil(*slow, "first");
  const auto quick = OpenStream();
  ReadUntil(*quick, "first");
  // More than the kernel buffers for a client that does not read.
  const std::string padding(size_t{8} << 20, 'x');
  for (int i = 0; i < 3; ++i) {
    Publish(absl::StrCat("data: ", i, padding, "end of ", i, "\n\n"));
    ReadUntil(*quick, absl::StrCat("end of ", i));
  }
  // It gets the batch that it began, and then the newest.
  EXPECT_THAT(ReadUntil(*slow, "end of 2"), HasSubstr("end of 0"));
}

TEST_F(WebServerTest, StreamsEndWithTheServer) {
  Start();
  const auto idle = OpenStream();
  ReadUntil(*idle, "first");
  const auto unread = OpenStream();
  ReadUntil(*unread, "first");
  Publish(std::string(size_t{32} << 20, 'x'));
  const SteadyClock clock;
  const absl::Time before = clock.Now();
  server_ = nullptr;
  EXPECT_LT(clock.Now() - before, absl::Seconds(5));
  EXPECT_TRUE(idle->ReadAll().ok());
}

TEST_F(WebServerTest, EndWaitsForRunningHandlersAndStartsNone) {
  BlockHandlers();
  const int port = server_->port();
  std::thread end([&] { server_ = nullptr; });
  EXPECT_TRUE(Eventually([&] { return !TryGet(port, "/query").ok(); })) << "it still replies";
  Release();
  end.join();
  JoinClients();
  MutexLock lock(mutex_);
  EXPECT_EQ(blocked_, kRunning);
  EXPECT_EQ(served_ + refused_ + closed_, kRequests);
}

}  // namespace
}  // namespace gpuscaler
