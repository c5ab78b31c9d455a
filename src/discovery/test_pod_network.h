// Real network namespaces for tests: a node's, which the test itself is in, and pods' at the far
// ends of cables. Needs IPv6, and root or the right to be root in a user namespace of one's own.
#pragma once

#include <sys/types.h>
#include <atomic>

#include <functional>
#include <string>
#include <thread>

#include "absl/status/status.h"

namespace gpuscaler {

// Puts the calling thread, and what it starts from here on, into a network of its own.
absl::Status EnterOwnNetwork();

// A child process that waits for its end, after doing `first`.
class TestProcess {
 public:
  explicit TestProcess(const std::function<void()>& first);
  ~TestProcess();
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

// A process in a network of its own, with a cable from its eth0 to ours.
class TestPodNetwork {
 public:
  explicit TestPodNetwork(int number);  // 1-99, of which its addresses are made

  const absl::Status& laid() const { return laid_; }
  pid_t pid() const { return process_.pid(); }
  const std::string& address() const { return address_; }
  const std::string& address_v6() const { return address_v6_; }

  void InThere(const std::function<void()>& work) const;  // on a thread that is in that network

 private:
  const std::string address_;
  const std::string address_v6_;
  const TestProcess process_;
  absl::Status laid_;
};

// An HTTP server with one page, in the network of the thread that makes it.
class TestServer {
 public:
  // "0.0.0.0", "::1" ...; port 0 is any.
  TestServer(const std::string& address, std::string body, int port = 0);
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  int port() const { return port_; }  // 0: it could not listen
  int served() const { return served_; }

 private:
  void Run();

  const std::string body_;
  int socket_ = -1;
  int port_ = 0;
  std::atomic<int> served_ = 0;
  std::thread thread_;
};

// What the server there says; empty: nobody is there.
std::string GetPage(const std::string& address, int port);

}  // namespace gpuscaler
