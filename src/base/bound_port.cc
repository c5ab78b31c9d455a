#include "base/bound_port.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// IPv6 may be compiled out of the kernel or disabled at boot.
bool KernelHasIpv6() {
  const int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return errno != EAFNOSUPPORT;
  close(probe);
  return true;
}

bool Bind(int socket, const addrinfo& address) {
  const int on = 1, off = 0;
  // A restart need not wait for the last connections to time out. A port on which another socket
  // listens cannot be bound all the same.
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.ai_family == AF_INET6) {
    setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  return bind(socket, address.ai_addr, address.ai_addrlen) == 0;
}

absl::Status CannotListen(const std::string& address, int port) {
  const std::string why = std::strerror(errno);
  const bool ipv6 = address.find(':') != std::string::npos;
  return absl::UnavailableError(absl::StrCat("cannot listen on ", ipv6 ? "[" : "", address,
                                             ipv6 ? "]" : "", ":", port, ": ", why));
}

}  // namespace

absl::StatusOr<BoundPort> BoundPort::Open(const std::string& requested, int port) {
  const std::string address = requested == "::" && !KernelHasIpv6() ? "0.0.0.0" : requested;
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.c_str(), absl::StrCat(port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", address, "\" is not an IPv4 or IPv6 address: ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  BoundPort bound(socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (bound.socket_ >= 0 && Bind(bound.socket_, *found)) return bound;
  return CannotListen(address, port);
}

BoundPort::~BoundPort() {
  if (socket_ >= 0) close(socket_);
}

int BoundPort::port() const {
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &size);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

absl::StatusOr<int> BoundPort::Listen() && {
  if (listen(socket_, SOMAXCONN) == 0) return std::exchange(socket_, -1);
  const std::string why = std::strerror(errno);
  return absl::UnavailableError(absl::StrCat("cannot listen on port ", port(), ": ", why));
}

}  // namespace gpuscaler
