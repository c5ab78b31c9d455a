// Errors and texts for engines that are not found or have no readings, so that unknown is not zero.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "model/signal_history.h"
#include "scaling/decision.h"
#include "scaling/replica.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Returns "http://llm:8000 has no address: ...".
std::string NoAddressText(const EngineEndpoint& endpoint);

// Without owners, a GPU in use is the only sign of a replica. Returns UNAVAILABLE if one is in use
// and no engine of the trigger is known: its endpoint has no address, or none is found. That is
// unknown, not zero. Unless the endpoint is named, GPUs of pods that the ScaledObject may not see
// do not count.
absl::Status CheckNoneIsHidden(const DecisionInputs& inputs);

// Returns whether the agents of all nodes of the replica search for engines.
bool AllNodesSearch(const Replica& replica, const SignalHistory& signals);

// Returns why no engine is found in one of its pods, or on one of its nodes. Empty: not known.
std::string WhyNotFoundIn(const Replica& replica, const SignalHistory& signals);

// Returns "no number from the engines of 2 replicas: llm-a (connection refused), llm-b (...)", for
// present replicas that are read by their engines. Empty if each has a number.
std::string UnreadableEnginesText(const std::vector<Replica>& replicas);

}  // namespace gpuscaler
