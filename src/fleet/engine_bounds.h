// Limits of an agent's messages about engines.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "telemetry.pb.h"
#include "wire/token_bucket.h"

namespace gpuscaler {

// Shortens texts for people. INVALID_ARGUMENT: no agent of any version sends this, or it is more
// than a node has; the stream must end.
absl::Status BoundEngines(telemetry::v1::EngineTelemetry& message);

// The cost to keep and to process the message is in bytes, approximately.
size_t CostOf(const telemetry::v1::EngineTelemetry& message);

// A token bucket for one agent's messages. Not thread-safe.
class EngineQuota {
 public:
  EngineQuota();

  // Returns false if the agent exceeds the rate for longer than a replay of its history takes.
  bool Take(size_t cost, absl::Time now);

 private:
  TokenBucket bytes_;
};

}  // namespace gpuscaler
