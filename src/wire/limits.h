// The server's limits on its clients: those that were hit are counted, and logged now and then.
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
  kDescriptors,  // no further ones are accepted for the moment
  // Connections are closed:
  kHandshakeTimeout,
  kKeepalive,
  kResets,
  kControlFrames,
  kContinuations,
  // Calls are refused or ended:
  kStreams,
  kStreamsPerAddress,
  kHeaderList,
  kMetadataKeys,
  kMessageSize,
  kUnfinishedBytes,
  kUnreadBytes,
};
constexpr int kLimits = static_cast<int>(Limit::kUnreadBytes) + 1;
absl::string_view Name(Limit limit);  // "streams_per_address"

using LimitCounts = std::array<int64_t, kLimits>;

// Thread-safe.
class LimitLog {
 public:
  explicit LimitLog(const Clock& clock);  // outlives it

  // Counts that `peer` hit the limit. Logs once a minute for each limit.
  void Add(Limit limit, absl::string_view peer);

  LimitCounts counts() const;

 private:
  std::array<std::atomic<int64_t>, kLimits> counts_ = {};
  std::vector<std::unique_ptr<RateLimit>> lines_;  // one per limit
};

}  // namespace gpuscaler
