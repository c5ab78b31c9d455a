// Limits of an agent's messages about engines.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// Shortens texts for people. INVALID_ARGUMENT: no agent of any version sends this, or it has more
// engines or pods than a node can have. The stream must then end.
absl::Status BoundEngines(telemetry::v1::EngineTelemetry& message);

// Returns the approximate cost to keep and to process the message, in bytes.
size_t CostOf(const telemetry::v1::EngineTelemetry& message);

// The costs that one agent may cause: a burst, which a replay of its history takes, and a rate per
// second. 110 engines with a reading per second cost 30 KiB/s, and 120 KiB/s with two histograms
// each. A replay has up to 16 MiB (EngineLog), and may cost twice as much if its readings are
// small.
inline constexpr double kEngineCostBurst = 64 << 20;
inline constexpr double kEngineCostPerSecond = 512 << 10;

}  // namespace gpuscaler
