// TLS handshakes of gRPC that failed, on whichever side of them this process was. gRPC tells nobody
// but its log: there is no call, and so no service, that would see them.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace gpuscaler {

enum class HandshakeFault {
  kNoCertificate,  // the other side showed none, and has to
  kUntrusted,      // its certificate is of another CA, or has expired
  kTurnedAway,     // the other side refused us
  kOther,          // it speaks no TLS, or no version that we do
};
constexpr int kHandshakeFaults = static_cast<int>(HandshakeFault::kOther) + 1;
absl::string_view Name(HandshakeFault fault);  // "no_certificate"

// What a line of gRPC's log says of a handshake; empty: it says nothing of one.
std::optional<HandshakeFault> HandshakeFaultOf(absl::string_view line);

// Counts it. Thread-safe.
void CountHandshakeFault(HandshakeFault fault);
int64_t CountedHandshakes(HandshakeFault fault);  // since the process began

}  // namespace gpuscaler
