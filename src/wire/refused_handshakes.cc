#include "wire/refused_handshakes.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <atomic>

#include "base/log.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kLogInterval = absl::Minutes(10);

// In the order of HandshakeFault.
constexpr absl::string_view kFaultNames[kHandshakeFaultCount] = {
    "no_certificate", "untrusted_certificate", "wrong_name", "wrong_node", "turned_away", "no_tls",
    "other"};
constexpr absl::string_view kWhatToDo[kHandshakeFaultCount] = {
    "give the other side a certificate of the CA in --tls-client-ca",
    "give the other side a certificate of the CA in --tls-client-ca that has not expired",
    "give the other side a certificate for the name that it is called by",
    "give the agent a certificate for its node",
    "the other side's log has the reason why it refuses our certificate",
    "give --tls-cert, --tls-key and --tls-client-ca to both sides, or to neither",
    "see the reason, which is OpenSSL's"};

std::array<std::atomic<int64_t>, kHandshakeFaultCount>& Counters() {
  static std::array<std::atomic<int64_t>, kHandshakeFaultCount> counters;
  return counters;
}

}  // namespace

absl::string_view Name(HandshakeFault fault) { return kFaultNames[static_cast<size_t>(fault)]; }

HandshakeFault FaultOfTlsError(unsigned long error) {
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return HandshakeFault::kOther;
  const int reason = ERR_GET_REASON(error);
  // The other side's alert, plus this offset.
  if (reason >= SSL_AD_REASON_OFFSET) return HandshakeFault::kRejectedByPeer;
  switch (reason) {
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return HandshakeFault::kNoCertificate;
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return HandshakeFault::kUntrusted;
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
      return HandshakeFault::kNoTls;
    default:
      return HandshakeFault::kOther;
  }
}

std::string TextOfTlsError(unsigned long error) {
  const char* const reason = ERR_reason_error_string(error);
  return reason == nullptr ? "unknown" : reason;
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
                                   {"what_to_do", kWhatToDo[static_cast<size_t>(fault)]},
                                   {"dropped", *dropped}});
}

void CountHandshakeFault(HandshakeFault fault) { ++Counters()[static_cast<size_t>(fault)]; }

int64_t CountedHandshakes(HandshakeFault fault) { return Counters()[static_cast<size_t>(fault)]; }

}  // namespace gpuscaler
