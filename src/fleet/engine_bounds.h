// Limits of an agent's messages about engines.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// Shortens texts for people. INVALID_ARGUMENT: no agent of any version sends this, or it is more
// than a node has; the stream must end.
absl::Status BoundEngines(telemetry::v1::EngineTelemetry& message);

// The cost to keep and to process the message is in bytes, approximately.
size_t CostOf(const telemetry::v1::EngineTelemetry& message);

// The costs that one agent may cause: a burst, which a replay of its history takes, and a rate per
// second. 110 engines with a reading per second cost 30 KiB/s, and 120 KiB/s with two histograms
// each. The past that an agent keeps has up to 16 MiB (EngineLog), and its readings may cost as
// much again.
inline constexpr double kEngineCostBurst = 64 << 20;
inline constexpr double kEngineCostPerSecond = 512 << 10;

}  // namespace gpuscaler
