#include "page/http_get.h"

#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/test_http_server.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string UrlOf(const TestHttpServer& server, absl::string_view path) {
  return absl::StrCat("http://127.0.0.1:", server.port(), path);
}

TEST(HttpGet, ReturnsTheBodyForAnyStatus) {
  const TestHttpServer server(Serving([](absl::string_view path) {
    return path == "/good?a=b%20c" ? Answer("{}") : EmptyAnswer(422);
  }));
  const auto good = HttpGet(UrlOf(server, "/good?a=b%20c"), {});
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->status, 200);
  EXPECT_EQ(good->body, "{}");
  const auto refused = HttpGet(UrlOf(server, "/"), {});
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(refused->status, 422);
}

TEST(HttpGet, SendsTheBearerToken) {
  std::promise<std::string> received;
  const TestHttpServer server([&](TestHttpConnection& connection) {
    received.set_value(connection.ReadRequest());
    connection.Send(Answer(""));
  });
  ASSERT_TRUE(HttpGet(UrlOf(server, "/"), {.bearer_token = "hunter2"}).ok());
  EXPECT_THAT(received.get_future().get(), HasSubstr("\r\nAuthorization: Bearer hunter2\r\n"));
}

TEST(HttpGet, EndsAnAnswerThatIsTooLarge) {
  const TestHttpServer server(
      Serving([](absl::string_view) { return Answer(std::string(3, 'x')); }));
  const std::string url = UrlOf(server, "/api?secret=hunter2");
  EXPECT_TRUE(HttpGet(url, {.max_bytes = 3}).ok());
  const absl::Status larger = HttpGet(url, {.max_bytes = 2}).status();
  EXPECT_EQ(larger.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(larger.message(), Not(HasSubstr("hunter2")));
}

TEST(HttpGet, AServerThatCannotBeReachedIsUnavailable) {
  EXPECT_TRUE(absl::IsUnavailable(HttpGet("http://127.0.0.1:1/", {}).status()));
}

TEST(HttpGet, RefusesUrlsOfOtherSchemes) {
  EXPECT_EQ(HttpGet("file:///etc/passwd", {}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(HttpGet, RefusesTokensThatWouldForgeHeaders) {
  EXPECT_EQ(HttpGet("http://127.0.0.1:1/", {.bearer_token = "a\r\nHost: b"}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gpuscaler
