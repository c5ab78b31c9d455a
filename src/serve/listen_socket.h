// A TCP socket that listens, and its address as text.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace gpuscaler {

// The socket, non-blocking, the caller's to close. `asked` is an address in figures: "::" is all
// of IPv6 and IPv4, or of IPv4 alone where the kernel has no IPv6; "0.0.0.0" is all of IPv4.
// INVALID_ARGUMENT for what is no address, UNAVAILABLE when it is taken or not ours.
absl::StatusOr<int> ListenOn(const std::string& asked, int port);

// "10.0.0.7:6000", "[::1]:6000".
std::string AddressText(const std::string& address, int port);

// The port that `socket` is bound to.
int BoundPort(int socket);

}  // namespace gpuscaler
