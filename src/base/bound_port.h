// A TCP port that is bound first and listened on later. The port number is then available while a
// server starts, and clients are refused until Listen(). Another process may bind the port until
// then, because SO_REUSEADDR is set; the first one that listens keeps it.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace gpuscaler {

// Not thread-safe.
class BoundPort {
 public:
  // `address` is numeric. "::" binds all of IPv6 and IPv4, or of IPv4 alone if the kernel has no
  // IPv6; "0.0.0.0" binds all of IPv4. Port 0 binds any free one. Returns INVALID_ARGUMENT if
  // `address` is no IP address. Returns UNAVAILABLE if another socket listens there or the address
  // is not one of this host.
  static absl::StatusOr<BoundPort> Open(const std::string& address, int port);
  ~BoundPort();
  BoundPort(BoundPort&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  BoundPort& operator=(BoundPort&&) = delete;

  int port() const;

  // The listening socket is non-blocking, and the caller must close it. Returns UNAVAILABLE if
  // another socket listens there by now.
  absl::StatusOr<int> Listen() &&;

 private:
  explicit BoundPort(int socket) : socket_(socket) {}

  int socket_;  // -1: moved from, or returned by Listen()
};

}  // namespace gpuscaler
