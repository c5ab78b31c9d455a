// Real network namespaces for tests: the test is in the node's, and pods' are connected to it by
// veth pairs. Needs IPv6, and root or the right to create a user namespace.
#pragma once

#include <sys/types.h>
#include <atomic>

#include <functional>
#include <string>
#include <thread>

#include "absl/status/status.h"

namespace gpuscaler {

// Moves the calling thread, and all that it starts later, into a new network.
absl::Status EnterOwnNetwork();

// A child process that runs `first` and then waits to be ended.
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

// A process in its own network, with a veth pair from its eth0 to the test's network.
class TestPodNetwork {
 public:
  explicit TestPodNetwork(int number);  // 1-99; part of its addresses

  const absl::Status& status() const { return status_; }
  pid_t pid() const { return process_.pid(); }
  const std::string& address() const { return address_; }
  const std::string& address_v6() const { return address_v6_; }

  void RunInside(const std::function<void()>& work) const;  // on a thread in that network

 private:
  const std::string address_;
  const std::string address_v6_;
  const TestProcess process_;
  absl::Status status_;
};

// An HTTP server with one page, in the network of the thread that creates it.
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

// Empty: no server answers.
std::string GetPage(const std::string& address, int port);

}  // namespace gpuscaler
