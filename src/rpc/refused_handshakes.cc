#include "rpc/refused_handshakes.h"

#include <array>
#include <atomic>

#include "absl/strings/match.h"
#include "base/log.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kLogInterval = absl::Minutes(10);

absl::string_view WhatToDo(HandshakeFault fault) {
  switch (fault) {
    case HandshakeFault::kNoCertificate:
      return "give the other side a certificate of the CA in --tls-client-ca";
    case HandshakeFault::kUntrusted:
      return "give the other side a certificate of the CA in --tls-client-ca that has not expired";
    case HandshakeFault::kWrongName:
      return "give the other side a certificate for the name that it is called by";
    case HandshakeFault::kTurnedAway:
      return "the other side's log says why it refuses our certificate";
    case HandshakeFault::kNoTls:
      return "give --tls-cert, --tls-key and --tls-client-ca to both sides, or to neither";
    case HandshakeFault::kOther:
      break;
  }
  return "see the reason, which is OpenSSL's";
}

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
    case HandshakeFault::kWrongName:
      return "wrong_name";
    case HandshakeFault::kTurnedAway:
      return "turned_away";
    case HandshakeFault::kNoTls:
      return "no_tls";
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
  if (absl::StrContains(line, " alert ")) return HandshakeFault::kTurnedAway;
  // What OpenSSL calls the first bytes of HTTP, be it 2 or 1.
  if (absl::StrContains(line, "wrong version number") || absl::StrContains(line, "http request")) {
    return HandshakeFault::kNoTls;
  }
  return HandshakeFault::kOther;
}

// gRPC 1.51, src/core/lib/security/security_connector/ssl_utils.cc.
std::optional<HandshakeFault> HandshakeFaultOfCall(absl::string_view message) {
  if (!absl::StrContains(message, "is not in peer certificate")) return std::nullopt;
  return HandshakeFault::kWrongName;
}

HandshakeLog::HandshakeLog(const Clock& clock) {
  for (int i = 0; i < kHandshakeFaults; ++i) {
    limits_.push_back(std::make_unique<RateLimit>(clock, 1, kLogInterval));
  }
}

void HandshakeLog::Write(HandshakeFault fault, absl::string_view message) {
  const std::optional<int64_t> dropped = limits_[static_cast<size_t>(fault)]->Pass();
  if (!dropped) return;
  LogWarn("tls_handshake_failed", {{"reason", Name(fault)},
                                   {"why", message},
                                   {"what_to_do", WhatToDo(fault)},
                                   {"dropped", *dropped}});
}

void CountHandshakeFault(HandshakeFault fault) { ++Counters()[static_cast<size_t>(fault)]; }

int64_t CountedHandshakes(HandshakeFault fault) { return Counters()[static_cast<size_t>(fault)]; }

}  // namespace gpuscaler
