#include "wire/limits.h"

#include <optional>

#include "base/log.h"

namespace gpuscaler {
namespace {

// In the order of Limit.
constexpr absl::string_view kLimitNames[kLimitCount] = {
    "connections",
    "connections_per_address",
    "handshakes_per_address",
    "descriptors",
    "handshake_timeout",
    "keepalive",
    "resets",
    "control_frames",
    "continuations",
    "streams",
    "streams_per_address",
    "header_list",
    "metadata_keys",
    "message_size",
    "unfinished_bytes",
    "unread_bytes",
};

}  // namespace

absl::string_view Name(Limit limit) { return kLimitNames[static_cast<size_t>(limit)]; }

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
