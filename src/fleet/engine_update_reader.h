// Makes of an agent's words on engines what is believed of them, on our own clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "fleet/engine_bounds.h"
#include "fleet/peer_clock.h"
#include "signal/found_engines.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// Not thread-safe.
class EngineUpdateReader {
 public:
  // The agent's node, as it is known; an agent speaks of its own alone. `found` outlives it.
  EngineUpdateReader(std::string node, FoundEngines& found);

  // A new stream: the agent says anew who it is, and what it has found.
  void Begin();

  // Hands on what `message`, which came at `now`, says. Changes the message. INVALID_ARGUMENT: no
  // agent of any version says this; the stream is of no use any more.
  absl::Status Read(telemetry::v1::EngineTelemetry& message, absl::Time now);

 private:
  absl::Status Meet(const telemetry::v1::Node& node);
  void List(const telemetry::v1::EngineList& list, bool more, absl::Time now);

  const std::string node_;
  FoundEngines& found_;
  bool has_met_ = false;
  uint64_t instance_ = 0;  // that the clock is of
  PeerClock peer_clock_;
  EngineQuota quota_;
  std::map<uint32_t, EnginePlace> places_;  // by the agent's numbers
  NodeEngines list_;                        // the newest
};

}  // namespace gpuscaler
