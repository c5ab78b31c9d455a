#include "page/http_client.h"

#include <unistd.h>

#include <array>
#include <future>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/test_ca.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/test_http_server.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string UrlOf(const TestHttpServer& server, absl::string_view path = "") {
  return absl::StrCat("http://127.0.0.1:", server.port(), path);
}

absl::StatusOr<HttpAnswer> GetFrom(const std::string& url, const std::string& path,
                                   const HttpClientOptions& options = {}) {
  const auto client = HttpClient::Open(url, options);
  return client.ok() ? (*client)->Get(path) : client.status();
}

TEST(HttpClient, ReturnsTheBodyForAnyStatusOverOneConnection) {
  const TestHttpServer server(Serving([](absl::string_view path) {
    return path == "/below/good?a=b%20c" ? Answer("{}") : EmptyAnswer(422);
  }));
  const auto client = HttpClient::Open(UrlOf(server, "/below/"), {});
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ((*client)->server(), UrlOf(server, "/below/"));
  const auto good = (*client)->Get("/good?a=b%20c");
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->status, 200);
  EXPECT_EQ(good->body, "{}");
  const auto refused = (*client)->Get("/bad");
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(refused->status, 422);
  EXPECT_EQ(refused->body, "");
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpClient, SendsTheBearerToken) {
  std::promise<std::string> received;
  const TestHttpServer server([&](TestHttpConnection& connection) {
    received.set_value(connection.ReadRequest());
    connection.Send(Answer(""));
  });
  ASSERT_TRUE(GetFrom(UrlOf(server), "/", {.bearer_token = "hunter2"}).ok());
  EXPECT_THAT(received.get_future().get(), HasSubstr("\r\nAuthorization: Bearer hunter2\r\n"));
}

TEST(HttpClient, FollowsNoRedirect) {
  const TestHttpServer elsewhere(Serving([](absl::string_view) { return Answer("stolen"); }));
  const TestHttpServer server(Serving([&](absl::string_view) {
    return EmptyAnswer(302, absl::StrCat("Location: ", UrlOf(elsewhere), "\r\n"));
  }));
  const auto answer = GetFrom(UrlOf(server), "/", {.bearer_token = "hunter2"});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 302);
  EXPECT_EQ(elsewhere.connections(), 0);
}

TEST(HttpClient, EndsAnAnswerThatIsTooLarge) {
  const TestHttpServer server(
      Serving([](absl::string_view path) { return Answer(std::string(path.size(), 'x')); }));
  const auto client = HttpClient::Open(UrlOf(server), {.max_bytes = 20});
  ASSERT_TRUE(client.ok()) << client.status();
  const absl::Status larger = (*client)->Get("/?secret=hunter2-----").status();
  EXPECT_EQ(larger.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(larger.message(), Not(HasSubstr("hunter2")));
  const auto next = (*client)->Get("/?secret=hunter2----");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->body.size(), 20u);
}

TEST(HttpClient, AServerThatCannotBeReachedIsUnavailable) {
  const absl::Status away = GetFrom("http://127.0.0.1:1", "/").status();
  EXPECT_TRUE(absl::IsUnavailable(away)) << away;
  EXPECT_THAT(std::string(away.message()), testing::StartsWith("http://127.0.0.1:1: "));
}

TEST(HttpClient, ARequestEndsAfterTheTimeout) {
  const TestHttpServer server([](TestHttpConnection& connection) { connection.Hang(); });
  EXPECT_TRUE(absl::IsUnavailable(
      GetFrom(UrlOf(server), "/", {.timeout = absl::Milliseconds(50)}).status()));
}

TEST(HttpClient, RefusesUrlsThatItCannotUse) {
  for (const char* url : {"file:///etc/passwd", "127.0.0.1:1", "http://127.0.0.1:1/?a=hunter2"}) {
    const absl::Status refused = HttpClient::Open(url, {}).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(refused.message(), Not(HasSubstr("hunter2")));
  }
}

TEST(HttpClient, RefusesTokensThatWouldForgeHeaders) {
  const absl::Status forged =
      HttpClient::Open("http://127.0.0.1:1", {.bearer_token = "a\r\nHost: b"}).status();
  EXPECT_EQ(forged.code(), absl::StatusCode::kInvalidArgument);
}

TEST(HttpClient, ChecksTheServersCertificateByItsName) {
  const TestCa ca("our CA");
  const TestCertificate pair = ca.IssueNamed("scaler.gpu.svc");
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("safe"); }), &pair);
  const std::string url = absl::StrCat("https://127.0.0.1:", server.port());
  for (const char* name : {"", "scaler.gpu.svc"}) {
    const auto answer = GetFrom(url, "/", {.identity = {.ca = ca.pem()}, .server_name = name});
    ASSERT_TRUE(answer.ok()) << name << answer.status();
    EXPECT_EQ(answer->body, "safe");
  }
  EXPECT_THAT(GetFrom(url, "/", {.identity = {.ca = ca.pem()}, .server_name = "other.gpu.svc"})
                  .status()
                  .message(),
              HasSubstr("its certificate: "));
  EXPECT_FALSE(GetFrom(url, "/").ok()) << "of an unknown authority";
}

TEST(HttpClient, ShowsItsOwnCertificate) {
  const TestCa ca("our CA");
  const TestCertificate pair = ca.Issue("scaler");
  const TestCertificate ours = ca.Issue("operator");
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("safe"); }), &pair,
                              "127.0.0.1", ca.pem());
  const std::string url = absl::StrCat("https://127.0.0.1:", server.port());
  EXPECT_FALSE(GetFrom(url, "/", {.identity = {.ca = ca.pem()}}).ok());
  const auto answer =
      GetFrom(url, "/", {.identity = {.ca = ca.pem(), .cert = ours.cert, .key = ours.key}});
  EXPECT_TRUE(answer.ok()) << answer.status();
}

TEST(HttpClient, WaitingEndsWhenADescriptorIsReadable) {
  const TestHttpServer server([](TestHttpConnection& connection) { connection.Hang(); });
  const auto client = HttpClient::Open(UrlOf(server), {});
  ASSERT_TRUE(client.ok()) << client.status();
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  (*client)->Start("/");
  ASSERT_EQ(write(ends[1], "q", 1), 1);
  EXPECT_FALSE((*client)->Wait(absl::Minutes(1), std::span(ends).first(1)).has_value());
  EXPECT_TRUE((*client)->in_flight());
  close(ends[0]);
  close(ends[1]);
}

TEST(HttpClient, ANewRequestReplacesTheOneInFlight) {
  const TestHttpServer server([](TestHttpConnection& connection) {
    if (connection.ReadRequest().find("/hang") != std::string::npos) {
      connection.Hang();
    } else {
      connection.Send(Answer("new"));
    }
  });
  const auto client = HttpClient::Open(UrlOf(server), {});
  ASSERT_TRUE(client.ok()) << client.status();
  (*client)->Start("/hang");
  EXPECT_FALSE((*client)->Wait(absl::ZeroDuration()).has_value());
  const auto answer = (*client)->Get("/other");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, "new");
}

}  // namespace
}  // namespace gpuscaler
