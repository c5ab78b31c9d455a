// Makes of an agent's messages what is believed of them, on our own clock.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "fleet/agent_news.h"
#include "fleet/peer_clock.h"
#include "fleet/telemetry_wire.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// How much an agent may say: a reading every 50 ms is the shortest --poll-interval. Else what is
// remembered of one agent would be all the memory that there is. Not thread-safe.
class ReadingAllowance {
 public:
  // False: the agent reads more often than agents can, for longer than a moment.
  bool Take(const NodeSnapshot& snapshot);

 private:
  double left_ = 0;
  absl::Time at_ = absl::InfinitePast();
};

// Not thread-safe.
class TelemetryReader {
 public:
  // A new stream: who it is the agent says anew.
  void Begin();

  // Hands on what `message`, which came at `now`, says: where that is much, in several parts.
  // Changes the message. INVALID_ARGUMENT: no agent of any version says this; the stream is of no
  // use any more.
  absl::Status Read(telemetry::v1::Telemetry& message, absl::Time now,
                    const std::function<void(AgentNews)>& tell);

 private:
  absl::Status Meet(const telemetry::v1::Node& node);
  absl::Status AddReading(const telemetry::v1::Reading& reading, const WriterClock& clock,
                          AgentNews& news);

  ReadingDecoder decoder_;
  PeerClock peer_clock_;
  ReadingAllowance allowance_;
  telemetry::v1::Node node_;  // empty: not said yet
  uint64_t instance_ = 0;     // that the four above are of
};

}  // namespace gpuscaler
