#include "standin/bound_port.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace gpuscaler {

absl::StatusOr<BoundPort> BoundPort::Open(const std::string& address, int port) {
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
  const int on = 1;
  setsockopt(bound.socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bound.socket_ >= 0 && bind(bound.socket_, found->ai_addr, found->ai_addrlen) == 0) {
    return bound;
  }
  return absl::UnavailableError(
      absl::StrCat("cannot bind ", address, " port ", port, ": ", std::strerror(errno)));
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
  return absl::UnavailableError(
      absl::StrCat("cannot listen on port ", port(), ": ", std::strerror(errno)));
}

}  // namespace gpuscaler
