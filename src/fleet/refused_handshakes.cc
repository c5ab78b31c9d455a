#include "fleet/refused_handshakes.h"

#include <array>
#include <atomic>

#include "absl/strings/match.h"

namespace gpuscaler {
namespace {

std::array<std::atomic<int64_t>, kHandshakeFaults>& Counters() {
  static std::array<std::atomic<int64_t>, kHandshakeFaults> counters;
  return counters;
}

}  // namespace

absl::string_view Name(HandshakeFault fault) {
  switch (fault) {
    case HandshakeFault::kNoCertificate:
      return "no_certificate";
    case HandshakeFault::kUntrusted:
      return "untrusted_certificate";
    case HandshakeFault::kTurnedAway:
      return "turned_away";
    case HandshakeFault::kOther:
      break;
  }
  return "other";
}

// gRPC 1.51, src/core/tsi/ssl_transport_security.cc, with OpenSSL's words for the reason.
std::optional<HandshakeFault> HandshakeFaultOf(absl::string_view line) {
  if (!absl::StartsWith(line, "Handshake failed with fatal error")) return std::nullopt;
  if (absl::StrContains(line, "peer did not return a certificate")) {
    return HandshakeFault::kNoCertificate;
  }
  if (absl::StrContains(line, "certificate verify failed")) return HandshakeFault::kUntrusted;
  return absl::StrContains(line, " alert ") ? HandshakeFault::kTurnedAway : HandshakeFault::kOther;
}

void CountHandshakeFault(HandshakeFault fault) { ++Counters()[static_cast<size_t>(fault)]; }

int64_t CountedHandshakes(HandshakeFault fault) { return Counters()[static_cast<size_t>(fault)]; }

}  // namespace gpuscaler
