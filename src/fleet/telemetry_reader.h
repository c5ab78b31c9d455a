// Checks an agent's messages and converts them to our types and our clock.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "fleet/agent_update.h"
#include "fleet/gpu_wire.h"
#include "fleet/peer_clock.h"
#include "fleet/reading_quota.h"
#include "fleet/telemetry_wire.h"
#include "telemetry.pb.h"
#include "wire/token_bucket.h"

namespace gpuscaler {

// Not thread-safe.
class TelemetryReader {
 public:
  TelemetryReader();

  // Begins a new stream: its first message must have the node again.
  void Begin();

  // The next stream repeats readings of this process that count once more, at their own times. The
  // quotas stay: an agent can cause replays.
  void BeginReplay() { decoder_ = ReadingDecoder(); }

  // Accepts a message, which came at `now`. Must not be called while has_more(). INVALID_ARGUMENT,
  // here and below: no agent of any version sends it, and the stream must end.
  absl::Status Take(telemetry::v1::Telemetry message, absl::Time now);

  // Delivers the next part of the message, about 10 MiB of readings, which takes 50 ms.
  absl::Status Continue(const std::function<void(AgentUpdate)>& deliver);
  bool has_more() const { return pending_.is_there; }

  // Take() and all parts at once.
  absl::Status Read(telemetry::v1::Telemetry message, absl::Time now,
                    const std::function<void(AgentUpdate)>& deliver);

 private:
  absl::Status SetNode(const telemetry::v1::Node& node, absl::Time now);
  // Charges the readings to this node from now on. INVALID_ARGUMENT if the last change was too
  // recent.
  absl::Status SwitchNode(const std::string& name, absl::Time now);
  // Returns INVALID_ARGUMENT if the last decoded reading exceeds a memory limit.
  absl::Status ChargeMemory(absl::Time taken_at);
  absl::Status AddReading(const telemetry::v1::Reading& reading, AgentUpdate& update);

  struct PendingMessage {
    telemetry::v1::Telemetry message;
    WriterClock clock;
    bool is_there = false;
    int next = 0;      // the next reading
    size_t bytes = 0;  // size of the readings before it
  };
  PendingMessage pending_;

  ReadingDecoder decoder_;
  PeerClock peer_clock_;
  telemetry::v1::Node node_;  // empty: not sent yet
  // The agent's process: another one has its own clock, node and readings.
  uint64_t instance_ = 0;

  TokenBucket decoded_;  // bytes of decoded readings, which fills with the time of arrival
  // A stream may replay the whole history, or continue from the kept readings.
  ReadingQuota stream_quota_;
  ReadingQuota node_quota_;
  std::string charged_node_;  // the node of node_quota_
  absl::Time charged_since_ = absl::InfinitePast();
};

}  // namespace gpuscaler
