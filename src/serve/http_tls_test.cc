#include "serve/http_tls.h"

#include "base/clock.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serve/http_server.h"
#include "serve/test_http_client.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

class HttpTlsTest : public testing::Test {
 protected:
  std::unique_ptr<HttpServer> Start(const TestCertificate& pair,
                                    const std::string& client_ca = "") {
    auto server =
        // The idle timeout must not close a client without a handshake before the test ends.
        HttpServer::Start({.bind_address = "127.0.0.1",
                           .tls = WriteTls(folder_.path(), pair, client_ca),
                           .idle_timeout = absl::Hours(1)},
                          {{"/metrics", [] { return HttpReply{.body = "ups 1\n"}; }}});
    EXPECT_TRUE(server.ok()) << server.status();
    return *std::move(server);
  }

  // Two reads in a row make a change count.
  static void ReloadChange(HttpServer& server) {
    for (int read = 0; read < 2; ++read) {
      const absl::Status status = server.ReloadTls();
      ASSERT_TRUE(status.ok()) << status;
    }
  }

  // The body that a client with this CA gets, or the error.
  static std::string Get(const HttpServer& server, const std::string& ca,
                         const TestCertificate& client = {}) {
    const TestTls tls{.ca = ca, .pair = client};
    const auto reply = Request(server.port(), "GET", "/metrics", &tls);
    return reply.ok() ? reply->body : std::string(reply.status().message());
  }

  const TestFolder folder_;
  const TestCa ca_{"the server's CA"};
  const TestCa clients_{"the clients' CA"};
};

TEST_F(HttpTlsTest, ServesOverTls) {
  const auto server = Start(ca_.Issue("server"));
  EXPECT_EQ(Get(*server, ca_.pem()), "ups 1\n");
  EXPECT_THAT(Get(*server, clients_.pem()), HasSubstr("certificate verify failed"));
}

TEST_F(HttpTlsTest, ExchangesKeysOnEllipticCurvesOnly) {
  const auto server = Start(ca_.Issue("server"));
  for (const char* groups : {"X25519", "P-256", "P-384", "P-521"}) {
    const TestTls tls{.ca = ca_.pem(), .pair = {}, .groups = groups};
    EXPECT_TRUE(TestHttpClient::Open(server->port(), &tls).ok()) << groups;
  }
  const TestTls tls{.ca = ca_.pem(), .pair = {}, .groups = "ffdhe8192"};
  EXPECT_FALSE(TestHttpClient::Open(server->port(), &tls).ok());
}

TEST_F(HttpTlsTest, PlainTextIsNotAnswered) {
  const auto server = Start(ca_.Issue("server"));
  EXPECT_FALSE(Request(server->port(), "GET", "/metrics").ok());
}

TEST_F(HttpTlsTest, OnlyClientsOfTheClientCaGetAnAnswer) {
  const auto server = Start(ca_.Issue("server"), clients_.pem());
  EXPECT_EQ(Get(*server, ca_.pem(), clients_.Issue("prometheus")), "ups 1\n");
  EXPECT_NE(Get(*server, ca_.pem()), "ups 1\n");
  EXPECT_NE(Get(*server, ca_.pem(), ca_.Issue("somebody else's")), "ups 1\n");
  EXPECT_NE(Get(*server, ca_.pem(), clients_.Issue("expired", -absl::Hours(1))), "ups 1\n");
  EXPECT_EQ(Get(*server, ca_.pem(), clients_.Issue("prometheus")), "ups 1\n");
}

TEST_F(HttpTlsTest, ReplacedCertificateIsServedWithoutARestart) {
  const auto server = Start(ca_.Issue("server"));
  const TestCa next("the next CA");
  WriteTls(folder_.path(), next.Issue("server"), "");
  EXPECT_EQ(Get(*server, ca_.pem()), "ups 1\n");
  ReloadChange(*server);
  EXPECT_EQ(Get(*server, next.pem()), "ups 1\n");
  EXPECT_NE(Get(*server, ca_.pem()), "ups 1\n");
}

TEST_F(HttpTlsTest, ReplacedClientCaRefusesOldClients) {
  const TestCertificate pair = ca_.Issue("server");
  const auto server = Start(pair, clients_.pem());
  const TestCa next("the next clients' CA");
  WriteTls(folder_.path(), pair, next.pem());
  ReloadChange(*server);
  EXPECT_EQ(Get(*server, ca_.pem(), next.Issue("prometheus")), "ups 1\n");
  EXPECT_NE(Get(*server, ca_.pem(), clients_.Issue("prometheus")), "ups 1\n");
}

TEST_F(HttpTlsTest, ConnectionOutlivesTheCertificateItBeganWith) {
  const auto server = Start(ca_.Issue("server"));
  const TestTls tls{.ca = ca_.pem()};
  const auto connection = TestHttpClient::Open(server->port(), &tls);
  ASSERT_TRUE(connection.ok()) << connection.status();
  WriteTls(folder_.path(), TestCa("the next CA").Issue("server"), "");
  ReloadChange(*server);
  (*connection)->Send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const auto reply = (*connection)->ReadAll();
  EXPECT_THAT(reply.value_or("nothing"), HasSubstr("ups 1\n")) << reply.status();
}

TEST_F(HttpTlsTest, BadPairAtReloadKeepsTheLastGoodOne) {
  const auto server = Start(ca_.Issue("server"));
  const TestCertificate other{.cert = ca_.Issue("server").cert, .key = ca_.Issue("server").key};
  for (const TestCertificate& bad : {other, TestCertificate{"no certificate", "no key"},
                                     ca_.Issue("expired", -absl::Hours(1))}) {
    WriteTls(folder_.path(), bad, "");
    EXPECT_EQ(server->ReloadTls().code(), absl::StatusCode::kInvalidArgument) << bad.cert;
    EXPECT_EQ(Get(*server, ca_.pem()), "ups 1\n");
  }
  WriteTls(folder_.path(), ca_.Issue("server"), "");
  EXPECT_TRUE(server->ReloadTls().ok()) << server->ReloadTls();
}

TEST_F(HttpTlsTest, UnusableFilesFailTheStart) {
  const TestCertificate mismatched{.cert = ca_.Issue("server").cert,
                                   .key = ca_.Issue("server").key};
  for (const TlsFiles& files :
       {TlsFiles{.cert = folder_.PathOf("none.pem"), .key = folder_.PathOf("none.pem")},
        TlsFiles{.client_ca = folder_.PathOf("none.pem")},
        WriteTls(folder_.path(), mismatched, "")}) {
    const auto server = HttpServer::Start({.bind_address = "127.0.0.1", .tls = files}, {});
    EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument) << files.cert;
  }
}

TEST_F(HttpTlsTest, AnswersWithClientsThatNeverHandshake) {
  const auto server = Start(ca_.Issue("server"));
  std::vector<std::unique_ptr<TestHttpClient>> held;
  for (int i = 0; i < 128; ++i) {
    auto connection = TestHttpClient::Open(server->port());
    ASSERT_TRUE(connection.ok()) << connection.status();
    if (i % 2 == 0) (*connection)->Send("\x16\x03\x01");  // the first bytes of a handshake
    held.push_back(*std::move(connection));
  }
  const SteadyClock clock;
  for (int request = 0; request < 5; ++request) {
    const absl::Time before = clock.Now();
    EXPECT_EQ(Get(*server, ca_.pem()), "ups 1\n");
    EXPECT_LT(clock.Now() - before, absl::Seconds(10));  // a blocked server never replies
  }
}

}  // namespace
}  // namespace gpuscaler
