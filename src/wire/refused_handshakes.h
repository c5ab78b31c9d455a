// TLS handshakes that failed, at either end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/rate_limit.h"

namespace gpuscaler {

enum class HandshakeFault {
  kNoCertificate,   // the peer presented none, and must
  kUntrusted,       // the peer's certificate is of another CA, or has expired
  kWrongName,       // the peer's certificate is not for the name in its address
  kWrongNode,       // an agent's certificate is not for its node (--agent-identity=san)
  kRejectedByPeer,  // the peer rejected our certificate
  kNoTls,           // the peer does not use TLS
  kOther,           // such as no common version
};
constexpr int kHandshakeFaultCount = static_cast<int>(HandshakeFault::kOther) + 1;
absl::string_view Name(HandshakeFault fault);  // "no_certificate"

// `error` is one of OpenSSL's queue.
HandshakeFault FaultOfTlsError(unsigned long error);

// "peer did not return a certificate"
std::string TextOfTlsError(unsigned long error);

// Logs each fault with what to do, at most once in ten minutes, because clients that cannot connect
// try again every few seconds. Thread-safe.
class HandshakeLog {
 public:
  explicit HandshakeLog(const Clock& clock);  // outlives it

  void Write(HandshakeFault fault, absl::string_view message);

 private:
  std::vector<std::unique_ptr<RateLimit>> limits_;  // one per fault
};

// Counts the fault in the process. Thread-safe.
void CountHandshakeFault(HandshakeFault fault);
int64_t CountedHandshakes(HandshakeFault fault);  // since the process began

}  // namespace gpuscaler
