// An HTTP server for tests with control over every byte, for correct and for broken servers.
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

// One client connection, on its own thread. All calls fail after the client or the server closed
// it.
class TestHttpConnection {
 public:
  TestHttpConnection(int socket, SSL_CTX* tls);

  bool Handshake();
  // Returns the head of a request, or "" at the end of the connection.
  std::string ReadRequest();
  bool Send(absl::string_view bytes);
  // Blocks until the connection is closed, and sends nothing.
  void Hang();

 private:
  const int socket_;
  std::shared_ptr<SSL> tls_;  // null: plain text
};

// Thread-safe.
class TestHttpServer {
 public:
  using Handler = std::function<void(TestHttpConnection&)>;

  // Listens on `port`; 0: any free port. Uses TLS with a pair, and requires client certificates
  // with `client_ca`.
  explicit TestHttpServer(Handler handler, const TestCertificate* tls = nullptr,
                          const std::string& address = "127.0.0.1",
                          const std::string& client_ca = "", int port = 0);
  ~TestHttpServer();

  int port() const { return port_; }
  int connections() const;  // opened so far
  int open() const;         // open now

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
  std::set<int> sockets_ ABSL_GUARDED_BY(mutex_);  // each has a detached thread
  int connections_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread accepting_;
};

// Complete responses, without Connection: close.
std::string Answer(absl::string_view body, absl::string_view content_type = "text/plain");
std::string EmptyAnswer(int status, absl::string_view headers = "");

// Responds to each request of a connection with what `page` returns for its path.
TestHttpServer::Handler Serving(std::function<std::string(absl::string_view path)> page);

// Sends `bytes` for any request, then hangs.
TestHttpServer::Handler SendingAndHanging(std::string bytes);

// Sends `bytes` for any request, then closes the connection.
TestHttpServer::Handler SendingAndClosing(std::string bytes);

}  // namespace gpuscaler
