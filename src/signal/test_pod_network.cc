#include "signal/test_pod_network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

absl::Status RunCommand(const std::string& command) {
  if (std::system(command.c_str()) == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("failed: ", command));
}

// Test pods have an address of each family.
absl::Status CheckIpv6() {
  char disabled = '1';
  std::ifstream("/proc/sys/net/ipv6/conf/default/disable_ipv6") >> disabled;
  if (disabled == '0') return absl::OkStatus();
  return absl::FailedPreconditionError(
      "this test needs IPv6: the kernel has none, or net.ipv6.conf.default.disable_ipv6 is 1");
}

bool WriteAll(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

bool BecomeOwnRoot() {
  const std::string user = absl::StrCat("0 ", geteuid(), " 1");
  const std::string group = absl::StrCat("0 ", getegid(), " 1");
  return unshare(CLONE_NEWUSER) == 0 && WriteAll("/proc/self/setgroups", "deny") &&
         WriteAll("/proc/self/uid_map", user) && WriteAll("/proc/self/gid_map", group);
}

// An address of a server in the network of the calling thread.
struct Resolved {
  addrinfo* first = nullptr;
  Resolved(const std::string& address, int port) {
    const addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    if (getaddrinfo(address.c_str(), absl::StrCat(port).c_str(), &hints, &first) != 0) {
      first = nullptr;
    }
  }
  ~Resolved() {
    if (first != nullptr) freeaddrinfo(first);
  }
  Resolved(const Resolved&) = delete;
  Resolved& operator=(const Resolved&) = delete;

  int Socket() const { return socket(first->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0); }
};

std::string ReadToTheEnd(int socket) {
  std::string text;
  std::array<char, 4096> block;
  for (ssize_t count = 0; (count = read(socket, block.data(), block.size())) > 0;) {
    text.append(block.data(), count);
  }
  return text;
}

}  // namespace

absl::Status EnterOwnNetwork() {
  if (unshare(CLONE_NEWNET) != 0 && !(BecomeOwnRoot() && unshare(CLONE_NEWNET) == 0)) {
    return absl::ErrnoToStatus(
        errno,
        "this test makes networks of its own, which takes root with CAP_SYS_ADMIN, or a machine "
        "where users may make namespaces (sysctl kernel.unprivileged_userns_clone)");
  }
  RETURN_IF_ERROR(RunCommand("ip link set lo up"));
  return CheckIpv6();
}

TestProcess::TestProcess(const std::function<void()>& first) {
  std::array<int, 2> ready;
  if (pipe2(ready.data(), O_CLOEXEC) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    close(ready[0]);
    first();
    close(ready[1]);
    while (true) pause();
  }
  close(ready[1]);
  char none = 0;
  while (read(ready[0], &none, 1) < 0 && errno == EINTR) {
  }
  close(ready[0]);
}

TestProcess::~TestProcess() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

TestPodNetwork::TestPodNetwork(int number)
    : address_(absl::StrCat("10.78.", number, ".2")),
      address_v6_(absl::StrCat("fd78:", number, "::2")),
      process_([] { unshare(CLONE_NEWNET); }) {
  const std::string near = absl::StrCat("pod", number);
  const std::string there = absl::StrCat("/proc/", pid(), "/ns/net");
  status_ = RunCommand(absl::StrCat(
      "ip link add ", near, " type veth peer name eth0 netns ", pid(), " && ip address add 10.78.",
      number, ".1/24 dev ", near, " && ip -6 address add fd78:", number, "::1/64 nodad dev ", near,
      " && ip link set ", near, " up && nsenter --net=", there, " sh -c 'ip address add ", address_,
      "/24 dev eth0 && ip -6 address add ", address_v6_,
      "/64 nodad dev eth0 && ip link set eth0 up && ip link set lo up"
      " && ip route add default via 10.78.",
      number, ".1'"));
}

void TestPodNetwork::RunInside(const std::function<void()>& work) const {
  std::thread([&] {
    const int there = open(absl::StrCat("/proc/", pid(), "/ns/net").c_str(), O_RDONLY | O_CLOEXEC);
    const absl::Cleanup closed = [there] { close(there); };
    if (setns(there, CLONE_NEWNET) == 0) work();
  }).join();
}

TestServer::TestServer(const std::string& address, std::string body, int port)
    : body_(std::move(body)) {
  const Resolved resolved(address, port);
  if (resolved.first == nullptr) return;
  socket_ = resolved.Socket();
  const int yes = 1;
  setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(socket_, resolved.first->ai_addr, resolved.first->ai_addrlen) != 0) return;
  if (listen(socket_, 8) != 0) return;
  sockaddr_in6 bound = {};
  socklen_t size = sizeof(bound);
  getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &size);
  port_ = ntohs(bound.sin6_port);  // the port has the same offset in sockaddr_in
  thread_ = std::thread([this] { Run(); });
}

TestServer::~TestServer() {
  shutdown(socket_, SHUT_RDWR);
  if (thread_.joinable()) thread_.join();
  close(socket_);
}

void TestServer::Run() {
  const std::string reply = absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body_.size(),
                                         "\r\nConnection: close\r\n\r\n", body_);
  for (int client = 0; (client = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
    std::array<char, 4096> request;
    if (read(client, request.data(), request.size()) > 0) {
      ++served_;
      send(client, reply.data(), reply.size(), MSG_NOSIGNAL);
    }
    close(client);
  }
}

std::string GetPage(const std::string& address, int port) {
  const Resolved resolved(address, port);
  if (resolved.first == nullptr) return "";
  const int client = resolved.Socket();
  const absl::Cleanup closed = [client] { close(client); };
  const timeval timeout = {.tv_sec = 5};
  setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  if (connect(client, resolved.first->ai_addr, resolved.first->ai_addrlen) != 0) return "";
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: pod\r\n\r\n";
  send(client, request.data(), request.size(), MSG_NOSIGNAL);
  const std::string reply = ReadToTheEnd(client);
  const size_t body = reply.find("\r\n\r\n");
  return body == std::string::npos ? "" : reply.substr(body + 4);
}

}  // namespace gpuscaler
