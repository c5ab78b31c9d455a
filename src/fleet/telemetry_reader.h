// Makes of an agent's messages what is believed of them, on our own clock.
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

  // A new stream: who it is the agent says anew.
  void Begin();

  // Accepts a message, which came at `now`. Must not be called while the one before has more.
  // INVALID_ARGUMENT, here and below: no agent of any version sends it, and the stream is of no use
  // any more.
  absl::Status Take(telemetry::v1::Telemetry message, absl::Time now);

  // Hands on the next part of the message, about 10 MiB of readings, which takes 50 ms.
  absl::Status Continue(const std::function<void(AgentUpdate)>& tell);
  bool has_more() const { return unread_.is_there; }

  // Take(), and all parts at once.
  absl::Status Read(telemetry::v1::Telemetry message, absl::Time now,
                    const std::function<void(AgentUpdate)>& tell);

 private:
  absl::Status Meet(const telemetry::v1::Node& node, absl::Time now);
  // What is kept of this node counts from now on.
  absl::Status Count(const std::string& name, absl::Time now);
  // It would take too much memory.
  absl::Status Weigh(absl::Time taken_at);
  absl::Status AddReading(const telemetry::v1::Reading& reading, AgentUpdate& update);

  struct Unread {
    telemetry::v1::Telemetry message;
    WriterClock clock;
    bool is_there = false;
    int next = 0;      // reading
    size_t bytes = 0;  // taken by the readings before it
  };
  Unread unread_;

  ReadingDecoder decoder_;
  PeerClock peer_clock_;
  telemetry::v1::Node node_;  // empty: not said yet
  uint64_t instance_ = 0;     // that the three above are of

  TokenBucket decoded_;  // bytes, whatever the readings' own times are
  // A stream may tell all of the past again, in the place of what is kept, or go on from there.
  ReadingQuota of_stream_;
  ReadingQuota of_node_;
  std::string counted_;  // the node that it is of
  absl::Time counted_since_ = absl::InfinitePast();
};

}  // namespace gpuscaler
