// What an agent says of engines: what of it is believed.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// Shortens what is for people. INVALID_ARGUMENT: no agent of any version says this, or it is more
// than a node has; the stream is of no use any more.
absl::Status BoundEngines(telemetry::v1::EngineTelemetry& message);

// What it takes to keep and to read, in bytes, about.
size_t CostOf(const telemetry::v1::EngineTelemetry& message);

// How much an agent may say. Not thread-safe.
class EngineQuota {
 public:
  // False: more than an agent has to say, for longer than it takes to tell the past.
  bool Take(size_t cost, absl::Time now);

 private:
  double left_ = 0;
  absl::Time at_ = absl::InfinitePast();
};

}  // namespace gpuscaler
