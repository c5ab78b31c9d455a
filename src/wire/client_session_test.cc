// Servers that break HTTP/2 or gRPC, are silent, or are none: their bytes are written by hand.
#include "wire/client_session.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/bound_port.h"
#include "base/test_ca.h"
#include "base/test_hello_requests.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "wire/channel.h"
#include "wire/client_tls.h"
#include "wire/test_frames.h"
#include "wire/test_key_updates.h"
#include "wire/tls_pem.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

// Accepts one connection, waits for its first bytes, sends `bytes`, and then waits until the client
// closes it.
class RawServer {
 public:
  enum class Then { kWait, kClose, kReset };

  explicit RawServer(std::string bytes, Then then = Then::kWait)
      : RawServer([bytes = std::move(bytes), then](int connection) {
          Answer(connection, bytes, then);
        }) {}
  // Calls `serve` with the connection, which it does not close.
  explicit RawServer(std::function<void(int)> serve) {
    auto port = BoundPort::Open("127.0.0.1", 0);
    EXPECT_TRUE(port.ok());
    port_ = port->port();
    listening_ = std::move(*port).Listen().value();
    thread_ = std::thread([this, serve = std::move(serve)] { Accept(serve); });
  }
  ~RawServer() {
    shutdown(listening_, SHUT_RDWR);
    thread_.join();
    close(listening_);
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  void Accept(const std::function<void(int)>& serve) const {
    int connection = -1;
    while ((connection = accept(listening_, nullptr, nullptr)) < 0) {
      if (errno != EAGAIN) return;
      absl::SleepFor(absl::Milliseconds(1));
    }
    serve(connection);
    close(connection);
  }

  static void Answer(int connection, const std::string& bytes, Then then) {
    // Its preface, SETTINGS, WINDOW_UPDATE and call.
    std::string got;
    char buffer[4096];
    while (got.size() < 100) {
      const ssize_t size = recv(connection, buffer, sizeof(buffer), 0);
      if (size <= 0) break;
      got.append(buffer, static_cast<size_t>(size));
    }
    send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (then == Then::kReset) {
      const linger now = {.l_onoff = 1, .l_linger = 0};
      setsockopt(connection, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    }
    while (then == Then::kWait && recv(connection, buffer, sizeof(buffer), 0) > 0) {
    }
  }

  int port_ = 0;
  int listening_ = -1;
  std::thread thread_;
};

class ClientSessionTest : public testing::Test {
 protected:
  // Makes a call on a connection of its own.
  CallEnd Call(const Target& target, CallOptions options = {.timeout = absl::Seconds(60)}) {
    return Channel(loop_, target).CallRaw("/test.Test/Test", "", std::move(options)).end;
  }

  static Target TlsTarget(const RawServer& server) {
    Target target = {.address = server.address()};
    const auto tls = ClientTls({.ca = TestCa("test CA").pem()});
    EXPECT_TRUE(tls.ok()) << tls.status();
    target.tls = [context = *tls] { return context; };
    return target;
  }

  EventLoop loop_;
};

TEST_F(ClientSessionTest, ErrorHasTheReasonThatAServerIsNotHttp2) {
  using Then = RawServer::Then;
  struct Case {
    const char* name;
    std::string bytes;
    Then then;
    const char* want;
  };
  for (const Case& each : std::vector<Case>{
           {"closes", "", Then::kClose, "the server has closed it"},
           {"resets", "", Then::kReset, "Connection reset by peer"},
           {"HTTP/1.1", "HTTP/1.1 400 Bad Request\r\n\r\n", Then::kWait, "has HTTP/1"},
           {"HTTP/1.1, closes", "HTTP/1.1 400 Bad Request\r\n\r\n", Then::kClose, "has HTTP/1"},
           {"TLS alert", std::string("\x15\x03\x03\0\2\2\x46", 7), Then::kClose, "needs TLS"},
           {"garbage", std::string(100, 'x'), Then::kWait, "violates HTTP/2"},
           {"silence", "", Then::kWait, "no answer"}}) {
    SCOPED_TRACE(each.name);
    const RawServer server(each.bytes, each.then);
    Target target = {.address = server.address()};
    if (absl::string_view(each.name) == "silence") {
      target.connect_timeout = absl::Milliseconds(50);
    }
    const CallEnd end = Call(target);
    EXPECT_EQ(end.status.code(), absl::StatusCode::kUnavailable) << end.status;
    EXPECT_THAT(end.status.message(),
                HasSubstr(absl::StrCat("cannot connect to ", target.address)));
    EXPECT_THAT(end.status.message(), HasSubstr(each.want));
    EXPECT_TRUE(end.connect_fault.has_value());
  }
}

TEST_F(ClientSessionTest, TlsHandshakeEndsAtTheDeadlineOfTheCall) {
  const RawServer server("");
  const CallEnd late = Call(TlsTarget(server), {.timeout = absl::Milliseconds(50)});
  EXPECT_EQ(late.status, absl::DeadlineExceededError(
                             absl::StrCat("no connection to ", server.address(), " within 50ms")));
}

TEST_F(ClientSessionTest, TlsHandshakeEndsAtTheConnectTimeout) {
  const RawServer server("");
  Target target = TlsTarget(server);
  target.connect_timeout = absl::Milliseconds(500);  // the connection itself must not take so long
  EXPECT_EQ(Call(target).status,
            absl::UnavailableError(absl::StrCat("cannot connect to ", server.address(),
                                                ": no answer to the TLS handshake")));
}

TEST_F(ClientSessionTest, ServerCannotProlongTheTlsHandshake) {
  std::promise<bool> are_refused;
  const RawServer server([&](int connection) {
    are_refused.set_value(AreHelloRequestsRefused([connection](absl::string_view records) {
      return send(connection, records.data(), records.size(), MSG_NOSIGNAL) > 0;
    }));
  });
  const CallEnd end = Call(TlsTarget(server));
  EXPECT_EQ(end.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(end.status.message(), HasSubstr("TLS handshake: "));
  EXPECT_TRUE(are_refused.get_future().get());
}

TEST_F(ClientSessionTest, ClosesConnectionsWithManyKeyUpdates) {
  const TestCa ca("our CA");
  const TestCertificate pair = ca.Issue("server");
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  ASSERT_TRUE(UseCertificate(context.get(), pair.cert, pair.key).ok());
  SSL_CTX_set_alpn_select_cb(
      context.get(),
      [](SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
         unsigned, void*) {
        *size = *offered;
        *chosen = offered + 1;
        return SSL_TLSEXT_ERR_OK;
      },
      nullptr);
  const RawServer server([&](int connection) {
    const std::unique_ptr<SSL, FreeTls> tls(SSL_new(context.get()));
    SSL_set_fd(tls.get(), connection);
    EXPECT_EQ(SSL_accept(tls.get()), 1);
    const std::string settings = Encode({FrameType::kSettings});
    SSL_write(tls.get(), settings.data(), static_cast<int>(settings.size()));
    const std::string updates = KeyUpdates(tls.get(), 2000);
    send(connection, updates.data(), updates.size(), MSG_NOSIGNAL);
    char buffer[4096];
    while (recv(connection, buffer, sizeof(buffer), 0) > 0) {
    }
  });
  const auto trusting = ClientTls({.ca = ca.pem()});
  ASSERT_TRUE(trusting.ok()) << trusting.status();
  const CallEnd end = Call({.address = server.address(), .tls = [&] { return *trusting; }});
  EXPECT_EQ(end.status, absl::UnavailableError(
                            absl::StrCat("the connection to ", server.address(),
                                         " is lost: the server sends too many empty frames")));
}

TEST_F(ClientSessionTest, ClosesConnectionsWithoutAnswersToPings) {
  const RawServer server(Encode({FrameType::kSettings}));
  const CallEnd end = Call({.address = server.address(),
                            .keepalive = absl::Milliseconds(10),
                            .keepalive_timeout = absl::Milliseconds(20)});
  EXPECT_EQ(end.status, absl::UnavailableError(absl::StrCat("the connection to ", server.address(),
                                                            " is lost: no answer to a ping for "
                                                            "20ms")));
  EXPECT_FALSE(end.connect_fault.has_value());
}

// HEADERS of the call's stream.
std::string Headers(const std::string& fields, uint8_t flags = kEndHeaders) {
  return Encode({FrameType::kHeaders, flags, 1, fields});
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST_F(ClientSessionTest, EndsCallsWithInvalidAnswers) {
  const auto data = [](const std::string& bytes, uint8_t flags = 0) {
    return Encode({FrameType::kData, flags, 1, bytes});
  };
  const auto reset = [](uint32_t error) {
    return Encode({FrameType::kReset, 0, 1, BigEndian(error, 4)});
  };
  const auto only = [](const std::string& fields) {
    return Headers(fields, kEndHeaders | kEndStream);
  };
  const std::string message = DataFrame(1, "a"), message_bytes("\0\0\0\0\1a", 6);
  const std::string ok =
      Headers(Literal(":status", "200") + Literal("content-type", "application/grpc"));
  const std::string ended = only(Literal("grpc-status", "0"));
  const std::string informational = Headers(Literal(":status", "100"));
  struct Case {
    const char* name;
    std::string bytes;
    absl::StatusCode code;
    const char* want;
  };
  using Code = absl::StatusCode;
  const std::vector<Case> cases = {
      {"a good answer", ok + message + ended, Code::kOk, ""},
      {"no message", ok + ended, Code::kInternal, "no message"},
      {"two messages", ok + data(message_bytes + message_bytes) + ended, Code::kInternal,
       "many messages"},
      {"half a message", ok + data(message_bytes.substr(0, 5)) + ended, Code::kInternal,
       "not complete"},
      {"no grpc-status", ok + data(message_bytes, kEndStream), Code::kUnknown,
       "without grpc-status"},
      {"odd grpc-status", only(Literal(":status", "200") + Literal("grpc-status", "99")),
       Code::kUnknown, "no reason was given"},
      {"HTTP 503", Headers(Literal(":status", "503")), Code::kUnavailable, "HTTP 503"},
      {"HTTP 404 at the end", only(Literal(":status", "404")), Code::kUnimplemented, "HTTP 404"},
      {"HTTP 020", Headers(Literal(":status", "020")) + message, Code::kUnknown, "HTTP 20"},
      {"HTML", Headers(Literal(":status", "200") + Literal("content-type", "text/html")),
       Code::kUnknown, "text/html"},
      {"compressed", ok + data(std::string("\1\0\0\0\1a", 6)), Code::kUnimplemented, "compressed"},
      {"reset", ok + reset(8), Code::kCancelled, "CANCEL"},
      {"refused", reset(7), Code::kUnavailable, "REFUSED_STREAM"},
      {"calm", reset(11), Code::kResourceExhausted, "ENHANCE_YOUR_CALM"},
      {"GOAWAY",
       Encode({FrameType::kGoAway, 0, 0, BigEndian(0, 4) + BigEndian(11, 4) + "too_many_pings"}),
       Code::kUnavailable, "is shutting down"},
      {"one informational answer", informational + ok + message + ended, Code::kOk, ""},
      {"endless informational answers", Repeated(informational, 2000), Code::kResourceExhausted,
       "headers"},
      {"large headers",
       Headers(Literal(":status", "200") + Repeated(Literal("x", std::string(100, 'x')), 150)),
       Code::kResourceExhausted, "headers"},
      {"endless CONTINUATION",
       Headers(Literal(":status", "200"), 0) +
           Repeated(Encode({FrameType::kContinuation, 0, 1, Literal("x", "y")}), 20),
       Code::kUnavailable, "lost"},
      {"PUSH_PROMISE",
       Encode({FrameType::kPushPromise, kEndHeaders, 1, BigEndian(2, 4) + Literal("x", "y")}),
       Code::kUnavailable, "lost: the server pushes"},
      {"pings", Repeated(Encode({FrameType::kPing, 0, 0, std::string(8, 'p')}), 1500),
       Code::kUnavailable, "lost"},
      {"ping answers", Repeated(Encode({FrameType::kPing, kAck, 0, std::string(8, 'p')}), 1500),
       Code::kUnavailable, "too many empty frames"},
      {"empty DATA", ok + Repeated(data(""), 1500), Code::kUnavailable, "too many empty frames"},
      {"padded DATA", ok + Repeated(data(std::string(1, '\0'), kPadded), 1500), Code::kUnavailable,
       "too many empty frames"},
      {"a message byte by byte", ok + data({0, 0, 0, 100, 0}) + Repeated(data("x"), 1500),
       Code::kUnavailable, "too many empty frames"},
      {"WINDOW_UPDATE", Repeated(Encode({FrameType::kWindowUpdate, 0, 0, BigEndian(1, 4)}), 1500),
       Code::kUnavailable, "too many empty frames"},
      {"unknown frames", Repeated(Encode({FrameType::kUnknown, 0, 0, "x"}), 1500),
       Code::kUnavailable, "too many empty frames"},
      {"more than the window",
       ok + Repeated(data(std::string("\0\0\x20\0\0", 5) + std::string(16'000, 'x')), 100),
       Code::kResourceExhausted, "longer than"}};
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    const RawServer server(Encode({FrameType::kSettings}) + each.bytes);
    const CallEnd end = Call({.address = server.address()},
                             {.timeout = absl::Seconds(60), .longest_message = 1 << 20});
    EXPECT_EQ(end.status.code(), each.code) << end.status;
    EXPECT_THAT(end.status.message(), HasSubstr(each.want));
    EXPECT_FALSE(end.connect_fault.has_value());
  }
}

}  // namespace
}  // namespace gpuscaler
