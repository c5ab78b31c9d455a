// An HTTP server for tests, down to the single byte: engines as they are, and as they must not be.
//
//   TestHttpServer server(Serving([](absl::string_view path) { return Answer("a 1\n"); }));
//   ... http://127.0.0.1:<server.port()> ...
#pragma once

#include <openssl/ssl.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "base/test_ca.h"

namespace gpuscaler {

// One of a client's, on a thread of its own. All calls fail once the client or the server ends it.
class TestHttpConnection {
 public:
  TestHttpConnection(int socket, SSL_CTX* tls);

  bool Handshake();
  // All of a request's head, or nothing.
  std::string ReadRequest();
  bool Send(absl::string_view bytes);
  // Says nothing more.
  void Hang();

 private:
  const int socket_;
  std::shared_ptr<SSL> tls_;  // null: plain text
};

// Thread-safe.
class TestHttpServer {
 public:
  using Handler = std::function<void(TestHttpConnection&)>;

  // At `port`, 0: any free one. With a pair it speaks TLS, and with a CA to clients of that one
  // alone.
  explicit TestHttpServer(Handler handler, const TestPair* tls = nullptr,
                          const std::string& address = "127.0.0.1",
                          const std::string& client_ca = "", int port = 0);
  ~TestHttpServer();

  int port() const { return port_; }
  int connections() const;  // that were ever opened
  int open() const;         // that are open now

 private:
  void Accept();
  void Serve(int socket);

  const Handler handler_;
  std::shared_ptr<SSL_CTX> tls_;
  int port_ = 0;
  const int listening_;
  mutable Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  CondVar closed_;
  std::set<int> sockets_ ABSL_GUARDED_BY(mutex_);  // each with a thread, which nobody joins
  int connections_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread accepting_;
};

// Whole answers, without Connection: close.
std::string Answer(absl::string_view body, absl::string_view content_type = "text/plain");
std::string EmptyAnswer(int status, absl::string_view headers = "");

// Request after request of a connection: what `page` answers to a path.
TestHttpServer::Handler Serving(std::function<std::string(absl::string_view path)> page);

// These bytes, whatever is asked, and then silence.
TestHttpServer::Handler SayingAndHanging(std::string bytes);

// These bytes, whatever is asked, and then the end of the connection.
TestHttpServer::Handler SayingAndClosing(std::string bytes);

}  // namespace gpuscaler
