// The records of a server that keeps a TLS client in its handshake.
#pragma once

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// Sends HelloRequests until `send` returns false, but at most 64 MiB of them, for which OpenSSL
// takes seconds. Returns true if the client has refused them before.
inline bool AreHelloRequestsRefused(absl::FunctionRef<bool(absl::string_view)> send) {
  constexpr char kRecord[] = "\x16\x03\x03\0\4\0\0\0";  // with the NUL at its end
  std::string many;
  while (many.size() < (size_t{64} << 10)) many.append(kRecord, sizeof(kRecord));
  for (int i = 0; i < 1024; ++i) {
    if (!send(many)) return true;
  }
  return false;
}

}  // namespace gpuscaler
