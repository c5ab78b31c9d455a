// The server's limits on clients, with a counter and a rate-limited log line for each.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/rate_limit.h"

namespace gpuscaler {

enum class Limit {
  // Connections are refused:
  kConnections,
  kConnectionsPerAddress,
  kHandshakesPerAddress,
  kDescriptors,  // accepting pauses
  // Connections are closed:
  kHandshakeTimeout,
  kKeepalive,
  kResets,
  kControlFrames,
  kContinuations,
  // Calls are refused or ended:
  kStreams,  // all clients together; or one connection, which is closed
  kStreamsPerAddress,
  kHeaderList,  // closes the connection beyond 4 times the limit
  kMetadataKeys,
  kMessageSize,
  kUnfinishedBytes,  // headers, and messages that are not complete
  kUnreadBytes,      // messages that the client has not read
};
constexpr int kLimitCount = static_cast<int>(Limit::kUnreadBytes) + 1;
absl::string_view Name(Limit limit);  // "streams_per_address"

using LimitCounts = std::array<int64_t, kLimitCount>;

// Thread-safe.
class LimitLog {
 public:
  explicit LimitLog(const Clock& clock);  // outlives it

  // Counts that `peer` hit the limit. Logs at most one line a minute for each limit.
  void Add(Limit limit, absl::string_view peer);

  LimitCounts counts() const;

 private:
  std::array<std::atomic<int64_t>, kLimitCount> counts_ = {};
  std::vector<std::unique_ptr<RateLimit>> log_limits_;  // one per limit
};

}  // namespace gpuscaler
