#include "wire/refused_handshakes.h"

#include <array>
#include <atomic>

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
    case HandshakeFault::kWrongNode:
      return "give the agent a certificate for its node";
    case HandshakeFault::kRejectedByPeer:
      return "the other side's log has the reason why it refuses our certificate";
    case HandshakeFault::kNoTls:
      return "give --tls-cert, --tls-key and --tls-client-ca to both sides, or to neither";
    case HandshakeFault::kOther:
      break;
  }
  return "see the reason, which is OpenSSL's";
}

std::array<std::atomic<int64_t>, kHandshakeFaultCount>& Counters() {
  static std::array<std::atomic<int64_t>, kHandshakeFaultCount> counters;
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
    case HandshakeFault::kWrongNode:
      return "wrong_node";
    case HandshakeFault::kRejectedByPeer:
      return "turned_away";
    case HandshakeFault::kNoTls:
      return "no_tls";
    case HandshakeFault::kOther:
      break;
  }
  return "other";
}

HandshakeLog::HandshakeLog(const Clock& clock) {
  for (int i = 0; i < kHandshakeFaultCount; ++i) {
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
