// A TCP port of this host: bound first, listened on later, so that it is known while a server still
// starts, and who comes is refused. Nobody has it for sure before he listens: until then others may
// bind it too, as servers do that let a restart have their port at once (SO_REUSEADDR).
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace gpuscaler {

class BoundPort {
 public:
  // `address` in figures: "::" is all of IPv6 and IPv4, or of IPv4 alone where the kernel has no
  // IPv6; "0.0.0.0" is all of IPv4. Port 0: any free one. INVALID_ARGUMENT for what is no address,
  // UNAVAILABLE when another listens there or it is not of this host.
  static absl::StatusOr<BoundPort> Open(const std::string& address, int port);
  ~BoundPort();
  BoundPort(BoundPort&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  BoundPort& operator=(BoundPort&&) = delete;

  int port() const;

  // The socket, non-blocking, which listens from now on, the caller's to close. UNAVAILABLE when
  // another listens there by now.
  absl::StatusOr<int> Listen() &&;

 private:
  explicit BoundPort(int socket) : socket_(socket) {}

  int socket_;  // -1: given away
};

}  // namespace gpuscaler
