// A TCP socket that listens, and its address as text.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace gpuscaler {

// The socket, non-blocking, the caller's to close. `address` is numeric; "::" listens on IPv4 too
// where the system can. INVALID_ARGUMENT for what is no address, UNAVAILABLE when it is taken or
// not ours.
absl::StatusOr<int> ListenOn(const std::string& address, int port);

// "10.0.0.7:6000", "[::1]:6000".
std::string AddressText(const std::string& address, int port);

// The port that `socket` is bound to.
int BoundPort(int socket);

}  // namespace gpuscaler
