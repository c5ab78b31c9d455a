// TLS handshakes that failed, at either end.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/rate_limit.h"

namespace gpuscaler {

enum class HandshakeFault {
  kNoCertificate,  // the other side has shown none, and must
  kUntrusted,      // its certificate is of another CA, or has expired
  kWrongName,      // its certificate is not for the name that it is called by
  kWrongNode,      // an agent's, and not for its node (--agent-identity=san)
  kTurnedAway,     // the other side has refused ours
  kNoTls,          // it has no TLS
  kOther,          // such as no common version
};
constexpr int kHandshakeFaults = static_cast<int>(HandshakeFault::kOther) + 1;
absl::string_view Name(HandshakeFault fault);  // "no_certificate"

// Logs each fault with what to do, once in ten minutes, with the number of those in between:
// clients that cannot connect try again every few seconds. Thread-safe.
class HandshakeLog {
 public:
  explicit HandshakeLog(const Clock& clock);  // outlives it

  void Write(HandshakeFault fault, absl::string_view message);

 private:
  std::vector<std::unique_ptr<RateLimit>> limits_;  // one per fault
};

// Counts it in the process. Thread-safe.
void CountHandshakeFault(HandshakeFault fault);
int64_t CountedHandshakes(HandshakeFault fault);  // since the process began

}  // namespace gpuscaler
