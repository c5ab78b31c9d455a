// A fake exporter that serves a given exposition.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "page/test_http_server.h"

namespace gpuscaler {

// A free port of 127.0.0.1, reserved while a server is stopped.
class HeldPort {
 public:
  HeldPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int reuse = 1;
    setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
    sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(at);
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    const bool is_held =
        bind(socket_, address, size) == 0 && getsockname(socket_, address, &size) == 0;
    if (is_held) port_ = ntohs(at.sin_port);
  }
  ~HeldPort() { close(socket_); }
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  int port() const { return port_; }

 private:
  const int socket_;
  int port_ = 0;
};

// Responses may be changed from any thread.
class TestExporter {
 public:
  TestExporter() { Start(); }

  void Show(const std::string& page) { AnswerAll(Answer(page)); }

  // Calls `page` with the number of the request, from 1 on.
  void ShowEach(std::function<std::string(int request)> page) {
    MutexLock lock(mutex_);
    answer_ = [page = std::move(page)](int request) { return Answer(page(request)); };
  }

  // Sets a whole HTTP response. Empty: none, and the connection stays open.
  void AnswerAll(std::string answer) {
    MutexLock lock(mutex_);
    answer_ = [answer = std::move(answer)](int) { return answer; };
  }

  // Closes the port until the next Start().
  void Stop() { server_.reset(); }
  void Start() {
    server_ = std::make_unique<TestHttpServer>(
        [this](TestHttpConnection& connection) { Serve(connection); }, nullptr, "127.0.0.1", "",
        held_.port());
  }

  std::string Url() const { return absl::StrCat("http://127.0.0.1:", held_.port()); }
  std::string head() const {  // the last request's
    MutexLock lock(mutex_);
    return head_;
  }

 private:
  void Serve(TestHttpConnection& connection) {
    while (true) {
      const std::string head = connection.ReadRequest();
      if (head.empty()) return;
      const std::string answer = NextAnswer(head);
      if (answer.empty()) return connection.Hang();
      if (!connection.Send(answer)) return;
    }
  }

  std::string NextAnswer(const std::string& head) {
    MutexLock lock(mutex_);
    head_ = head;
    return answer_(++requests_);
  }

  HeldPort held_;
  mutable Mutex mutex_;
  std::function<std::string(int)> answer_ ABSL_GUARDED_BY(mutex_) = [](int) { return Answer(""); };
  int requests_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string head_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<TestHttpServer> server_;
};

}  // namespace gpuscaler
