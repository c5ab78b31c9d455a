#include <future>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "base/test_ca.h"
#include "base/test_hello_requests.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/curl_connection.h"
#include "page/test_fetched_metrics.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

TEST(PageTls, CertificateIsVerifiedByTheConfiguredCa) {
  const TestCa ca("our CA");
  const TestCertificate pair = ca.Issue("engine");
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("safe"); }), &pair);
  ScrapeRequest request = RequestTo(server.port());
  request.server.tls = true;
  request.server.host = "localhost";
  request.server.identity.ca = ca.pem();
  const auto page = FetchOnce(request);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->body, "safe");
}

TEST(PageTls, ClientCertificateIsSentOnRequest) {
  const TestCa ca("our CA");
  const TestCertificate pair = ca.Issue("engine");
  const TestCertificate own = ca.Issue("scaler");
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("safe"); }), &pair,
                              "127.0.0.1", ca.pem());
  ScrapeRequest request = RequestTo(server.port());
  request.server.tls = true;
  request.server.identity.ca = ca.pem();
  EXPECT_FALSE(FetchOnce(request).ok()) << "none is shown";
  request.server.identity.cert = own.cert;
  request.server.identity.key = own.key;
  const auto page = FetchOnce(request);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->body, "safe");
  request.server.identity.key = pair.key;
  EXPECT_EQ(FetchOnce(request).status().code(), absl::StatusCode::kInvalidArgument)
      << "the key is another's";
}

TEST(PageTls, WrongCertificatesAreRefused) {
  const TestCa ca("our CA");
  const TestCa other("another CA");
  const TestCertificate good = ca.Issue("engine");
  const TestCertificate expired = ca.Issue("engine", -absl::Hours(1));
  const auto fault = [&](const TestCertificate& pair, const std::string& host,
                         const std::string& ca_pem) {
    const TestHttpServer server(Serving([](absl::string_view) { return Answer("safe"); }), &pair);
    ScrapeRequest request = RequestTo(server.port());
    request.server.tls = true;
    request.server.host = host;
    request.server.identity.ca = ca_pem;
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

// Endless KeyUpdates must not block other transfers.
TEST(PageTls, OpenSslReadReturnsAfterEachTlsMessage) {
  const TestCa ca("our CA");
  const TestCertificate pair = ca.Issue("engine");
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("safe"); }), &pair);
  const ServerAddress address{
      .address = *ParseIpAddress("127.0.0.1"), .port = server.port(), .identity = {.ca = ca.pem()}};
  CurlEasy easy;
  const CurlConnection connection(easy, address);
  easy.Set(CURLOPT_URL, "https://localhost");
  std::optional<long> mode;
  const auto look = [&] {
    const auto* const session = easy.Info<curl_tlssessioninfo*>(CURLINFO_TLS_SSL_PTR, nullptr);
    mode = SSL_get_mode(static_cast<SSL*>(session->internals));
  };
  using Look = decltype(look);
  easy.Set(CURLOPT_WRITEDATA, &look);
  easy.Set(
      CURLOPT_WRITEFUNCTION, +[](char*, size_t, size_t size, const Look* look) {
        (*look)();
        return size;
      });
  ASSERT_EQ(Curl().easy_perform(easy.get()), CURLE_OK);
  ASSERT_TRUE(mode.has_value());
  EXPECT_EQ(*mode & SSL_MODE_AUTO_RETRY, 0);
}

// They must not block other transfers either.
TEST(PageTls, ServerCannotProlongTheHandshake) {
  std::promise<bool> are_refused;
  const TestHttpServer server([&](TestHttpConnection& connection) {
    are_refused.set_value(AreHelloRequestsRefused(
        [&](absl::string_view records) { return connection.Send(records); }));
  });
  ScrapeRequest request = RequestTo(server.port());
  request.server.tls = true;
  EXPECT_THAT(MessageOf(FetchOnce(request).status()), HasSubstr("it may not speak https"));
  EXPECT_TRUE(are_refused.get_future().get());
}

TEST(PageTls, HttpOnHttpsPortAndViceVersaAreErrors) {
  const TestCa ca("our CA");
  const TestCertificate pair = ca.Issue("engine");
  const TestHttpServer tls(Serving([](absl::string_view) { return Answer(""); }), &pair);
  EXPECT_FALSE(FetchOnce(RequestTo(tls.port())).ok());
  const TestHttpServer plain(SendingAndClosing("HTTP/1.1 400 Bad Request\r\n\r\n"));
  ScrapeRequest request = RequestTo(plain.port());
  request.server.tls = true;
  EXPECT_EQ(FetchOnce(request, absl::Milliseconds(200)).status().code(),
            absl::StatusCode::kDeadlineExceeded)
      << "it waits for a head that never comes";
  const TestHttpServer wrong(SendingAndHanging("HTTP/1.1 400 Bad Request\r\n\r\n"));
  request.server.port = wrong.port();
  EXPECT_THAT(MessageOf(FetchOnce(request).status()), HasSubstr("it may not speak https"));
}

}  // namespace
}  // namespace gpuscaler
