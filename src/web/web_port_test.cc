#include "web/web_port.h"

#include <memory>
#include <string>

#include "base/fake_clock.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "web/gzip.h"
#include "web/test_web_client.h"
#include "web/test_web_sources.h"
#include "wire/test_certificates.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

class WebPortTest : public testing::Test {
 protected:
  std::unique_ptr<WebPort> Open(const std::string& page, const TlsFiles& tls = {}) {
    WebServerOptions options;
    options.http = {.bind_address = "127.0.0.1", .tls = tls};
    options.access.bind_address = "127.0.0.1";
    auto port = WebPort::Open(options, {.name = "scaler-0"}, clock_, fleets_, {},
                              {.workloads = workloads_.Source()}, page);
    EXPECT_TRUE(port.ok()) << port.status();
    return *std::move(port);
  }

  FakeClock clock_;
  TestFleetReader fleets_;
  TestWorkloads workloads_;
  const TestFolder folder_;
};

TEST_F(WebPortTest, PageIsServedPackedOrPlain) {
  const std::string html = "<!doctype html><script>alert(1)</script>" + std::string(2'000, ' ');
  const auto port = Open(Gzip(html));
  for (const char* path : {"/", "/index.html"}) {
    const TestReply plain = MustGet(port->port(), path);
    EXPECT_EQ(plain.status, 200);
    EXPECT_EQ(plain.body, html);
    EXPECT_THAT(plain.head, HasSubstr("Content-Type: text/html; charset=utf-8\r\n"));
    EXPECT_THAT(plain.head, HasSubstr("script-src 'sha256-"));
    const TestReply packed = MustGet(port->port(), path, {{"Accept-Encoding", "gzip"}});
    EXPECT_EQ(Gunzip(packed.body, 10'000).value_or(""), html);
  }
  EXPECT_EQ(MustGet(port->port(), "/other.html").status, 404);
}

TEST_F(WebPortTest, BuildWithoutPageHasTheApiAndSaysSo) {
  const auto port = Open("");
  const TestReply page = MustGet(port->port(), "/");
  EXPECT_EQ(page.status, 404);
  EXPECT_THAT(page.body, HasSubstr("This build has no web page"));
  EXPECT_THAT(page.head, HasSubstr("Content-Type: text/plain"));
  EXPECT_THAT(MustGet(port->port(), "/api/v1/status").body, HasSubstr("\"instance\":\"scaler-0\""));
}

TEST_F(WebPortTest, EventsBeginWithTheState) {
  workloads_.Add("shop", "llm");
  const auto port = Open("");
  const auto client = TestHttpClient::Open(port->port());
  ASSERT_TRUE(client.ok()) << client.status();
  (*client)->Send(RequestText("/api/v1/events"));
  std::string all;
  while (all.find("\"llm\"") == std::string::npos) {
    const auto more = (*client)->ReadSome();
    ASSERT_TRUE(more.ok() && !more->empty()) << all << more.status();
    all += *more;
  }
  EXPECT_THAT(all, HasSubstr("event: workloads\n"));
}

TEST_F(WebPortTest, TlsRequiresTheClientsCertificate) {
  const TestCa ca("our CA");
  const TlsFiles tls = WriteTls(folder_.path(), ca.Issue("server"), ca.pem());
  const auto port = Open("", tls);
  const TestTls with = {.ca = ca.pem(), .pair = ca.Issue("client")};
  const auto served = TryGet(port->port(), "/api/v1/status", {}, &with);
  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_EQ(served->status, 200);
  const TestTls without = {.ca = ca.pem(), .pair = {}};
  EXPECT_FALSE(TryGet(port->port(), "/api/v1/status", {}, &without).ok());
  EXPECT_FALSE(TryGet(port->port(), "/api/v1/status").ok()) << "plain text";
}

}  // namespace
}  // namespace gpuscaler
