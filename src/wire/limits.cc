#include "wire/limits.h"

#include <optional>

#include "base/log.h"

namespace gpuscaler {

absl::string_view Name(Limit limit) {
  switch (limit) {
    case Limit::kConnections:
      return "connections";
    case Limit::kConnectionsPerAddress:
      return "connections_per_address";
    case Limit::kHandshakesPerAddress:
      return "handshakes_per_address";
    case Limit::kDescriptors:
      return "descriptors";
    case Limit::kHandshakeTimeout:
      return "handshake_timeout";
    case Limit::kKeepalive:
      return "keepalive";
    case Limit::kResets:
      return "resets";
    case Limit::kControlFrames:
      return "control_frames";
    case Limit::kContinuations:
      return "continuations";
    case Limit::kStreams:
      return "streams";
    case Limit::kStreamsPerAddress:
      return "streams_per_address";
    case Limit::kHeaderList:
      return "header_list";
    case Limit::kMetadataKeys:
      return "metadata_keys";
    case Limit::kMessageSize:
      return "message_size";
    case Limit::kUnfinishedBytes:
      return "unfinished_bytes";
    case Limit::kUnreadBytes:
      return "unread_bytes";
  }
  return "";
}

LimitLog::LimitLog(const Clock& clock) {
  for (int i = 0; i < kLimitCount; ++i) {
    log_limits_.push_back(std::make_unique<RateLimit>(clock, 1, absl::Minutes(1)));
  }
}

void LimitLog::Add(Limit limit, absl::string_view peer) {
  ++counts_[static_cast<size_t>(limit)];
  const std::optional<int64_t> dropped = log_limits_[static_cast<size_t>(limit)]->Pass();
  if (!dropped) return;
  LogWarn("grpc_limit", {{"limit", Name(limit)}, {"peer", peer}, {"dropped", *dropped}});
}

LimitCounts LimitLog::counts() const {
  LimitCounts counts = {};
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = counts_[i];
  return counts;
}

}  // namespace gpuscaler
