#include "wire/tls_messages.h"

#include <event2/bufferevent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>

#include "base/test_ca.h"
#include "base/test_eventually.h"
#include "gtest/gtest.h"
#include "wire/client_tls.h"
#include "wire/event_loop.h"
#include "wire/test_key_updates.h"
#include "wire/tls_pem.h"

namespace gpuscaler {
namespace {

struct Session {
  void OnTlsMessage() { ++messages; }
  std::atomic<int> messages = 0;
};

// libevent reads such a connection once more: it holds it for the deferred callback.
TEST(TlsMessages, NoneIsReportedFromAFreedConnection) {
  const TestCa ca("our CA");
  const TestCertificate pair = ca.Issue("server");
  const std::shared_ptr<SSL_CTX> server(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  ASSERT_TRUE(UseCertificate(server.get(), pair.cert, pair.key).ok());
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  EventLoop loop;
  Session session;
  std::unique_ptr<bufferevent, FreeEvents> connection;
  loop.Post([&] {
    connection.reset(bufferevent_openssl_socket_new(
        loop.base(), ends[0], SSL_new(server.get()), BUFFEREVENT_SSL_ACCEPTING,
        BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS));
    bufferevent_setcb(
        connection.get(), [](bufferevent*, void*) {}, nullptr, nullptr, nullptr);
    ReportTlsMessages(connection.get(), &session);
    bufferevent_enable(connection.get(), EV_READ | EV_WRITE);
  });
  const std::shared_ptr<SSL_CTX> trusting(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  const std::unique_ptr<SSL, FreeTls> client(SSL_new(trusting.get()));
  SSL_set_fd(client.get(), ends[1]);
  ASSERT_EQ(SSL_connect(client.get()), 1);
  const auto send_key_update = [&] {
    const std::string message = KeyUpdates(client.get(), 1);
    EXPECT_EQ(send(ends[1], message.data(), message.size(), 0), ssize_t(message.size()));
  };
  send_key_update();
  constexpr int kMessages = 3;  // ClientHello, Finished and KeyUpdate
  ASSERT_TRUE(Eventually([&] { return session.messages == kMessages; })) << session.messages;

  // The loop finds the task and the message in one poll, and runs the task first.
  std::promise<void> is_busy, is_sent;
  loop.Post([&] {
    is_busy.set_value();
    is_sent.get_future().wait();
  });
  is_busy.get_future().wait();
  loop.Post([&] {
    bufferevent_trigger(connection.get(), EV_READ,
                        BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
    connection = nullptr;
  });
  send_key_update();
  is_sent.set_value();
  loop.Stop();
  EXPECT_EQ(session.messages, kMessages);
  close(ends[1]);
}

}  // namespace
}  // namespace gpuscaler
