// Checks an agent's messages about engines and converts them to our types and our clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "fleet/engine_bounds.h"
#include "fleet/peer_clock.h"
#include "signal/found_engines.h"
#include "telemetry.pb.h"
#include "wire/token_bucket.h"

namespace gpuscaler {

// Not thread-safe.
class EngineUpdateReader {
 public:
  // `node` is the agent's known node: messages of another node are refused. `found` must outlive
  // this.
  EngineUpdateReader(std::string node, FoundEngines& found);

  // Begins a new stream: its first messages must have the node and the list again.
  void Begin();

  // Passes the contents of `message`, which came at `now`, to FoundEngines. Changes the message.
  // INVALID_ARGUMENT: no agent of any version sends this, and the stream must end.
  absl::Status Read(telemetry::v1::EngineTelemetry& message, absl::Time now);

 private:
  absl::Status SetNode(const telemetry::v1::Node& node);
  void List(const telemetry::v1::EngineList& list, bool more, absl::Time now);

  const std::string node_;
  FoundEngines& found_;
  bool has_node_ = false;
  uint64_t instance_ = 0;  // the process that peer_clock_ belongs to
  PeerClock peer_clock_;
  TokenBucket quota_{kEngineCostBurst, kEngineCostPerSecond};
  std::map<uint32_t, EngineAddress> places_;  // key: the agent's id
  NodeEngines list_;                          // the newest
};

}  // namespace gpuscaler
