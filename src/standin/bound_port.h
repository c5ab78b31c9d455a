// A TCP port that is taken before anybody may connect to it: while a model loads, clients are
// refused, and yet the port is known.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace gpuscaler {

class BoundPort {
 public:
  // `address` in figures; port 0: any free one. INVALID_ARGUMENT for what is no address,
  // UNAVAILABLE when it is taken or not of this host.
  static absl::StatusOr<BoundPort> Open(const std::string& address, int port);
  ~BoundPort();
  BoundPort(BoundPort&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  BoundPort& operator=(BoundPort&&) = delete;

  int port() const;

  // The socket, which listens from now on, the caller's to close. UNAVAILABLE when another listens
  // there.
  absl::StatusOr<int> Listen() &&;

 private:
  explicit BoundPort(int socket) : socket_(socket) {}

  int socket_;  // -1: given away
};

}  // namespace gpuscaler
