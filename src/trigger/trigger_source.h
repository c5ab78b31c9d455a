// The sources that a trigger reads besides GPUs.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "model/engine_metric.h"
#include "model/signal_source.h"
#include "model/staleness_limits.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Returns true if the values of its replicas come from their engines.
bool ReadsEngines(const Trigger& trigger);
// Returns true if a replica with preallocated VRAM counts its engine's pressure.
bool ReadsPressure(const Trigger& trigger);

// Returns true if an engine's pressure counts, by metric type or profile.
bool CountsPressure(const Trigger& trigger);
// Returns true if the demand of its engines is computed: it counts, or is explained.
bool ComputesDemand(const Trigger& trigger);
// Returns true if the value is the demand, as far as it is known.
bool CountsDemand(const Trigger& trigger);

// Returns true if requests that its gateway holds add to the demand (gatewayUrl).
bool CountsHeldRequests(const Trigger& trigger);

// Empty: GPUs only. A profile that counts an engine's pressure reads engines beside the GPUs. The
// namespace is the ScaledObject's.
std::optional<SignalSource> SourceOf(const Trigger& trigger, absl::string_view namespace_name);

// A metrics endpoint or a queue uses only the window and look_back of the query.
EngineQuery SourceQueryOf(const Trigger& trigger, const StalenessLimits& staleness);

// Empty: the trigger names no gateway.
std::optional<SignalSource> GatewayOf(const Trigger& trigger, absl::string_view namespace_name);
EngineQuery GatewayQueryOf(const StalenessLimits& staleness);

// Returns how far back a replica's samples are smoothed: zero if each covers the window already.
absl::Duration SmoothingOf(const Trigger& trigger);

}  // namespace gpuscaler
