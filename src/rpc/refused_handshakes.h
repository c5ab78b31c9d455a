// TLS handshakes of gRPC that failed, on whichever side of them this process was. gRPC tells nobody
// but its log: there is no call, and so no service, that would see them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/rate_limit.h"

namespace gpuscaler {

enum class HandshakeFault {
  kNoCertificate,  // the other side showed none, and has to
  kUntrusted,      // its certificate is of another CA, or has expired
  kWrongName,      // its certificate is not for the name that we call it by
  kTurnedAway,     // the other side refused us
  kNoTls,          // it speaks no TLS
  kOther,          // it speaks no version of it that we do, say
};
constexpr int kHandshakeFaults = static_cast<int>(HandshakeFault::kOther) + 1;
absl::string_view Name(HandshakeFault fault);  // "no_certificate"

// What a line of gRPC's log says of a handshake; empty: it says nothing of one.
std::optional<HandshakeFault> HandshakeFaultOf(absl::string_view line);

// The same of a call that failed, of what the log says nothing about: the name is looked at last,
// when TLS itself is content.
std::optional<HandshakeFault> HandshakeFaultOfCall(absl::string_view message);

// Says that it happened, and what to do: once in ten minutes for each fault, with the number of
// those in between. Who cannot connect tries again every few seconds, and gRPC does not tell who it
// was. Thread-safe.
class HandshakeLog {
 public:
  explicit HandshakeLog(const Clock& clock);  // outlives it

  void Write(HandshakeFault fault, absl::string_view message);

 private:
  std::vector<std::unique_ptr<RateLimit>> limits_;  // by fault
};

// Counts it. Thread-safe.
void CountHandshakeFault(HandshakeFault fault);
int64_t CountedHandshakes(HandshakeFault fault);  // since the process began

}  // namespace gpuscaler
