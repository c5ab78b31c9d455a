#include "app/web_client.h"

#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/test_ca.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/test_http_server.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(OpenWebClient, SendsTheTokenOfTheFile) {
  std::promise<std::string> head;
  const TestHttpServer server([&](TestHttpConnection& connection) {
    head.set_value(connection.ReadRequest());
    connection.Send(Answer("{}"));
  });
  const TestFolder folder;
  const auto client = OpenWebClient({.server = absl::StrCat("http://127.0.0.1:", server.port()),
                                     .token_file = folder.Write("token", "secret\n")});
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_TRUE((*client)->Get("/").ok());
  EXPECT_THAT(head.get_future().get(), HasSubstr("Authorization: Bearer secret\r\n"));
}

TEST(OpenWebClient, RefusesBadFlags) {
  const TestFolder folder;
  const std::string token = folder.Write("token", "secret");
  struct Case {
    WebClientOptions options;
    std::string want;
  };
  const std::vector<Case> cases = {
      {{.server = "localhost:8082"}, "flag --server=localhost:8082: neither http:// nor https://"},
      {{.ca = "/no/such.pem"}, "/no/such.pem: cannot be read"},
      {{.token_file = folder.Write("two", "a b")}, "has spaces or control characters"},
      {{.server = "http://scaler.gpu:8082", .token_file = token}, "in plain text"},
  };
  for (const Case& test : cases) {
    const auto client = OpenWebClient(test.options);
    EXPECT_EQ(client.status().code(), absl::StatusCode::kInvalidArgument) << test.want;
    EXPECT_THAT(std::string(client.status().message()), HasSubstr(test.want));
    EXPECT_THAT(std::string(client.status().message()), Not(HasSubstr("secret")));
  }
  EXPECT_THAT(std::string(OpenWebClient({.server = "x"}, "prometheus").status().message()),
              HasSubstr("flag --prometheus=x: "));
}

TEST(OpenWebClient, UsesTheCertificatesOfTheFiles) {
  const TestCa ca("our CA");
  const TestCertificate pair = ca.IssueNamed("scaler.gpu.svc");
  const TestCertificate ours = ca.Issue("operator");
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("safe"); }), &pair,
                              "127.0.0.1", ca.pem());
  const TestFolder folder;
  WebClientOptions options = {.server = absl::StrCat("https://127.0.0.1:", server.port()),
                              .ca = folder.Write("ca.pem", ca.pem()),
                              .cert = folder.Write("cert.pem", ours.cert),
                              .key = folder.Write("key.pem", ours.key),
                              .server_name = "scaler.gpu.svc"};
  const auto client = OpenWebClient(options);
  ASSERT_TRUE(client.ok()) << client.status();
  const auto answer = (*client)->Get("/");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, "safe");
  options.server_name = "other.gpu.svc";
  const auto other = OpenWebClient(options);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_THAT(std::string((*other)->Get("/").status().message()), HasSubstr("its certificate: "));
}

TEST(UrlEscaped, KeepsOnlyUnreservedCharacters) {
  EXPECT_EQ(UrlEscaped("s0-llm_a.b~"), "s0-llm_a.b~");
  EXPECT_EQ(UrlEscaped("a/b?c&d=e f%"), "a%2Fb%3Fc%26d%3De%20f%25");
  EXPECT_EQ(UrlEscaped("\xc3\xa4"), "%C3%A4");
}

}  // namespace
}  // namespace gpuscaler
