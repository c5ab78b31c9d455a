#include "app/web_client.h"

#include <unistd.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/test_ca.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/test_http_server.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string UrlOf(const TestHttpServer& server) {
  return absl::StrCat("http://127.0.0.1:", server.port());
}

// Returns the reply of a server that sends `bytes` for any path.
absl::StatusOr<std::string> ReplyOf(const std::string& bytes) {
  const TestHttpServer server(Serving([&](absl::string_view) { return bytes; }));
  auto client = WebClient::Open({.server = UrlOf(server)});
  return client.ok() ? (*client)->Get("/api/v1/status") : client.status();
}

std::string Refusal(int status, absl::string_view body) {
  return absl::StrCat("HTTP/1.1 ", status, " Some Words\r\nContent-Length: ", body.size(),
                      "\r\n\r\n", body);
}

TEST(WebClient, ReturnsTheBodyOfThePathOverOneConnection) {
  const TestHttpServer server(
      Serving([](absl::string_view path) { return Answer(absl::StrCat("path ", path)); }));
  auto client = WebClient::Open({.server = UrlOf(server) + "/"});
  ASSERT_TRUE(client.ok()) << client.status();
  for (const char* path : {"/api/v1/status", "/api/v1/workloads/a/b?trigger=s0"}) {
    const auto reply = (*client)->Get(path);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(*reply, absl::StrCat("path ", path));
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST(WebClient, ErrorsHaveTheServersText) {
  struct Case {
    int http_status;
    absl::StatusCode want;
  };
  for (const Case& test :
       {Case{400, absl::StatusCode::kInvalidArgument},
        Case{403, absl::StatusCode::kUnauthenticated}, Case{404, absl::StatusCode::kNotFound},
        Case{410, absl::StatusCode::kOutOfRange}, Case{503, absl::StatusCode::kUnavailable}}) {
    const auto reply = ReplyOf(Refusal(test.http_status, R"({"error":"it is gone"})"));
    EXPECT_EQ(reply.status().code(), test.want) << test.http_status;
    EXPECT_EQ(std::string(reply.status().message()), "it is gone") << test.http_status;
  }
  EXPECT_THAT(std::string(ReplyOf(Refusal(401, R"({"error":"no token"})")).status().message()),
              HasSubstr("no token; use --token-file"));
  EXPECT_THAT(std::string(ReplyOf(EmptyAnswer(404)).status().message()),
              HasSubstr("HTTP 404: is this the --web-port"));
}

TEST(WebClient, AnUnreachableServerIsAnErrorWithThePortForward) {
  int port = 0;
  {
    const TestHttpServer server(Serving([](absl::string_view) { return Answer(""); }));
    port = server.port();
  }
  auto client = WebClient::Open({.server = absl::StrCat("http://127.0.0.1:", port)});
  ASSERT_TRUE(client.ok()) << client.status();
  const auto reply = (*client)->Get("/");
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kUnavailable) << reply.status();
  EXPECT_THAT(std::string(reply.status().message()),
              HasSubstr("kubectl -n gpu-scaler port-forward"));
}

TEST(WebClient, SendsTheTokenOfTheFile) {
  Mutex mutex;
  std::string head;
  const TestHttpServer server([&](TestHttpConnection& connection) {
    const std::string request = connection.ReadRequest();
    {
      MutexLock lock(mutex);
      head = request;
    }
    connection.Send(Answer("{}"));
  });
  const TestFolder folder;
  auto client =
      WebClient::Open({.server = UrlOf(server), .token_file = folder.Write("token", "secret\n")});
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_TRUE((*client)->Get("/").ok());
  MutexLock lock(mutex);
  EXPECT_THAT(head, HasSubstr("Authorization: Bearer secret\r\n"));
}

TEST(WebClient, RefusesBadFlags) {
  const TestFolder folder;
  const std::string token = folder.Write("token", "secret");
  struct Case {
    WebClientOptions options;
    std::string want;
  };
  const std::vector<Case> cases = {
      {{.server = "localhost:8082"}, "flag --server=localhost:8082: neither http:// nor https://"},
      {{.ca = "/no/such.pem"}, "/no/such.pem: cannot be read"},
      {{.token_file = folder.Write("two", "a b")}, "neither spaces nor control characters"},
      {{.server = "http://scaler.gpu:8082", .token_file = token}, "in plain text"},
  };
  for (const Case& test : cases) {
    const auto client = WebClient::Open(test.options);
    EXPECT_EQ(client.status().code(), absl::StatusCode::kInvalidArgument) << test.want;
    EXPECT_THAT(std::string(client.status().message()), HasSubstr(test.want));
    EXPECT_THAT(std::string(client.status().message()), Not(HasSubstr("secret")));
  }
}

TEST(WebClient, ChecksTheServersCertificateByItsName) {
  const TestCa ca("our CA");
  const TestCertificate pair = ca.IssueNamed("scaler.gpu.svc");
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("safe"); }), &pair);
  const TestFolder folder;
  const std::string url = absl::StrCat("https://127.0.0.1:", server.port());
  const std::string ca_file = folder.Write("ca.pem", ca.pem());
  for (const char* name : {"", "scaler.gpu.svc"}) {
    auto client = WebClient::Open({.server = url, .ca = ca_file, .server_name = name});
    ASSERT_TRUE(client.ok()) << client.status();
    const auto reply = (*client)->Get("/");
    ASSERT_TRUE(reply.ok()) << name << reply.status();
    EXPECT_EQ(*reply, "safe");
  }
  auto other = WebClient::Open({.server = url, .ca = ca_file, .server_name = "other.gpu.svc"});
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_THAT(std::string((*other)->Get("/").status().message()), HasSubstr("its certificate: "));
  auto unknown = WebClient::Open({.server = url});
  ASSERT_TRUE(unknown.ok()) << unknown.status();
  EXPECT_FALSE((*unknown)->Get("/").ok()) << "of an unknown authority";
}

TEST(WebClient, WaitingEndsWhenADescriptorIsReadable) {
  const TestHttpServer server([](TestHttpConnection& connection) { connection.Hang(); });
  auto client = WebClient::Open({.server = UrlOf(server)});
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

TEST(WebClient, ANewRequestReplacesTheOneInFlight) {
  const TestHttpServer server([](TestHttpConnection& connection) {
    if (connection.ReadRequest().find("/hang") != std::string::npos) {
      connection.Hang();
    } else {
      connection.Send(Answer("new"));
    }
  });
  auto client = WebClient::Open({.server = UrlOf(server)});
  ASSERT_TRUE(client.ok()) << client.status();
  (*client)->Start("/hang");
  EXPECT_FALSE((*client)->Wait(absl::ZeroDuration()).has_value());
  const auto reply = (*client)->Get("/other");
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(*reply, "new");
}

TEST(UrlEscaped, KeepsOnlyUnreservedCharacters) {
  EXPECT_EQ(UrlEscaped("s0-llm_a.b~"), "s0-llm_a.b~");
  EXPECT_EQ(UrlEscaped("a/b?c&d=e f%"), "a%2Fb%3Fc%26d%3De%20f%25");
  EXPECT_EQ(UrlEscaped("\xc3\xa4"), "%C3%A4");
}

}  // namespace
}  // namespace gpuscaler
