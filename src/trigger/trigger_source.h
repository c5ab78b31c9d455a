// What a trigger wants read besides GPUs.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "model/engine_metric.h"
#include "model/signal_source.h"
#include "model/staleness_limits.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Its replicas are what their engines tell.
bool ReadsEngines(const Trigger& trigger);
// Preallocated VRAM counts its engine's pressure (DESIGN 2).
bool ReadsPressure(const Trigger& trigger);

// An engine's pressure counts, by its metric type or its profile.
bool CountsPressure(const Trigger& trigger);
// Its engines' demand is computed: it counts, or is explained.
bool ComputesDemand(const Trigger& trigger);
// The value is the demand, as far as it is known.
bool CountsDemand(const Trigger& trigger);

// Requests that its gateway holds add to its engines' demand (gatewayUrl).
bool CountsHeldRequests(const Trigger& trigger);

// Empty: GPUs alone. Of a profile that counts an engine's pressure the engines, beside the GPUs.
// The namespace is the ScaledObject's.
std::optional<SignalSource> SourceOf(const Trigger& trigger, absl::string_view namespace_name);

// Which number of it, and how far back. Of a page or a queue its window and look_back alone count.
EngineQuestion QuestionOf(const Trigger& trigger, const StalenessLimits& staleness);

// The gateway in front of its engines; empty: it names none.
std::optional<SignalSource> GatewayOf(const Trigger& trigger, absl::string_view namespace_name);
EngineQuestion GatewayQuestionOf(const StalenessLimits& staleness);

// How far back a replica's samples are smoothed: not at all where each speaks for the window
// already.
absl::Duration SmoothingOf(const Trigger& trigger);

}  // namespace gpuscaler
