// The server's TLS: reloaded certificates, refused handshakes, and too many key updates.
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "base/test_ca.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "wire/test_frames.h"
#include "wire/test_key_updates.h"
#include "wire/tls_pem.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

class ServerTlsTest : public testing::Test {
 protected:
  void Start(const std::string& client_ca) {
    const TestCertificate pair = ca_.Issue("first");
    WireServerOptions options;
    options.bind_address = "127.0.0.1";
    options.tls = TlsPems{.cert = pair.cert, .key = pair.key, .ca = client_ca};
    auto server = WireServer::Start(std::move(options), {});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // A connection of OpenSSL's client, which begins HTTP/2.
  class Client {
   public:
    // Presents `pair`, if any, and trusts servers with a certificate of `ca`.
    Client(int port, const std::optional<TestCertificate>& pair, const TestCa& ca,
           const char* groups = "X25519")
        : socket_(port), context_(SSL_CTX_new(TLS_client_method())) {
      SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
      EXPECT_TRUE(TrustAuthorities(context_.get(), ca.pem(), "CA").ok());
      SSL_CTX_set1_groups_list(context_.get(), groups);
      if (pair) {
        EXPECT_TRUE(UseCertificate(context_.get(), pair->cert, pair->key).ok());
      }
      tls_.reset(SSL_new(context_.get()));
      SSL_set_fd(tls_.get(), socket_.descriptor());
      if (SSL_connect(tls_.get()) == 1) Write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      Write(Encode({FrameType::kSettings, 0, 0, ""}));
      ERR_clear_error();
    }

    void Write(const std::string& bytes) {
      SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
    }
    bool SendKeyUpdates(int count) { return socket_.Send(KeyUpdates(tls_.get(), count)); }
    // The common name of the server's certificate, or "" if the server refuses the client.
    std::string Name() {
      char name[100] = "";
      char byte = 0;
      if (SSL_read(tls_.get(), &byte, 1) == 1) {
        const std::unique_ptr<X509, Free> shown(SSL_get1_peer_certificate(tls_.get()));
        X509_NAME_get_text_by_NID(X509_get_subject_name(shown.get()), NID_commonName, name,
                                  sizeof(name));
      }
      ERR_clear_error();
      return name;
    }
    bool Answers() {
      Write(Encode({FrameType::kPing, 0, 0, std::string(8, 'p')}));
      std::string got;
      for (char byte = 0; got.find("pppppppp") == std::string::npos; got += byte) {
        if (SSL_read(tls_.get(), &byte, 1) != 1) return false;
      }
      return true;
    }

   private:
    struct Free {
      void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
      void operator()(SSL* tls) const { SSL_free(tls); }
      void operator()(X509* certificate) const { X509_free(certificate); }
    };
    RawClient socket_;
    const std::unique_ptr<SSL_CTX, Free> context_;
    std::unique_ptr<SSL, Free> tls_;
  };

  std::string ServerNameFor(const std::optional<TestCertificate>& pair) {
    return Client(server_->port(), pair, ca_).Name();
  }

  testing::AssertionResult IsCounted(HandshakeFault fault, int64_t times) const {
    const auto count = [&] { return server_->counts().handshakes[static_cast<size_t>(fault)]; };
    for (int i = 0; i < 5000 && count() != times; ++i) absl::SleepFor(absl::Milliseconds(2));
    if (count() == times) return testing::AssertionSuccess();
    return testing::AssertionFailure() << Name(fault) << " was counted " << count() << " times";
  }

  const TestCa ca_{"our CA"};
  std::unique_ptr<WireServer> server_;
};

TEST_F(ServerTlsTest, ShowsTheNewestCertificate) {
  Start("");
  Client earlier(server_->port(), std::nullopt, ca_);
  EXPECT_EQ(earlier.Name(), "first");
  const TestCertificate second = ca_.Issue("second");
  ASSERT_TRUE(server_->SetTls({.cert = second.cert, .key = second.key, .ca = ""}).ok());
  EXPECT_EQ(ServerNameFor(std::nullopt), "second");
  EXPECT_TRUE(earlier.Answers());

  const TestCertificate third = ca_.Issue("third");
  for (const TlsPems& unusable : {TlsPems{.cert = third.cert, .key = second.key, .ca = ""},
                                  TlsPems{.cert = third.cert, .key = "", .ca = ""},
                                  TlsPems{.cert = "text", .key = third.key, .ca = ""},
                                  TlsPems{.cert = third.cert, .key = third.key, .ca = "text"}}) {
    EXPECT_EQ(server_->SetTls(unusable).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ServerNameFor(std::nullopt), "second");
  }
}

TEST_F(ServerTlsTest, TrustsTheNewestAuthorityOfClients) {
  const TestCa other("another CA");
  Start(ca_.pem());
  const TestCertificate ours = ca_.Issue("client"), theirs = other.Issue("client");
  EXPECT_EQ(ServerNameFor(ours), "first");
  EXPECT_EQ(ServerNameFor(theirs), "");
  const TestCertificate second = ca_.Issue("second");
  ASSERT_TRUE(server_->SetTls({.cert = second.cert, .key = second.key, .ca = other.pem()}).ok());
  EXPECT_EQ(ServerNameFor(ours), "");
  EXPECT_EQ(ServerNameFor(theirs), "second");
}

TEST_F(ServerTlsTest, TrustsAnIntermediateAuthorityWithoutItsRoot) {
  const TestCa intermediate("our intermediate CA", &ca_);
  Start(intermediate.pem());
  EXPECT_EQ(ServerNameFor(intermediate.Issue("client")), "first");
  EXPECT_EQ(ServerNameFor(ca_.Issue("client")), "") << "the root is not trusted";
}

TEST_F(ServerTlsTest, CountsRefusedHandshakesByReason) {
  const TestCa other("another CA");
  Start(ca_.pem());
  const int64_t before = CountedHandshakes(HandshakeFault::kUntrusted);
  EXPECT_EQ(ServerNameFor(std::nullopt), "");
  EXPECT_TRUE(IsCounted(HandshakeFault::kNoCertificate, 1));
  EXPECT_EQ(ServerNameFor(other.Issue("client")), "");
  EXPECT_TRUE(IsCounted(HandshakeFault::kUntrusted, 1));
  EXPECT_EQ(CountedHandshakes(HandshakeFault::kUntrusted), before + 1) << "the process's metric";
  EXPECT_EQ(Client(server_->port(), ca_.Issue("client"), other).Name(), "");
  EXPECT_TRUE(IsCounted(HandshakeFault::kRejectedByPeer, 1));
  {
    RawClient plain(server_->port());
    plain.Begin();
    EXPECT_TRUE(plain.IsClosed());
  }
  EXPECT_TRUE(IsCounted(HandshakeFault::kNoTls, 1));
  EXPECT_TRUE(IsCounted(HandshakeFault::kOther, 0));
}

TEST_F(ServerTlsTest, ExchangesKeysOnEllipticCurvesOnly) {
  Start("");
  for (const char* curve : {"X25519", "P-256", "P-384", "P-521"}) {
    EXPECT_EQ(Client(server_->port(), std::nullopt, ca_, curve).Name(), "first") << curve;
  }
  EXPECT_EQ(Client(server_->port(), std::nullopt, ca_, "ffdhe8192").Name(), "");
}

// The messages arrive in one segment: the limit must act within one SSL_read().
TEST_F(ServerTlsTest, ClosesAConnectionOfManyKeyUpdates) {
  Start("");
  Client client(server_->port(), std::nullopt, ca_);
  EXPECT_TRUE(client.SendKeyUpdates(900));
  EXPECT_TRUE(client.Answers()) << "a connection may have 1,000";
  client.SendKeyUpdates(2000);
  for (int i = 0; i < 5000 && server_->counts().connections > 0; ++i) {
    absl::SleepFor(absl::Milliseconds(2));
  }
  EXPECT_EQ(server_->counts().connections, 0);
  EXPECT_EQ(server_->counts().limits[static_cast<size_t>(Limit::kControlFrames)], 1)
      << "one for each message beyond the limit";
}

}  // namespace
}  // namespace gpuscaler
