// Engines that are not known or have no readings: unknown is always reported.
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

// Returns whether engines are looked for on all nodes of the replica.
bool IsLookedForIn(const Replica& replica, const SignalHistory& signals);

// The reason is about a pod of the replica or its node. Empty: not known.
std::string WhyNotFoundIn(const Replica& replica, const SignalHistory& signals);

// Returns "no number from the engines of 2 replicas: llm-a (connection refused), llm-b (...)", for
// present replicas that are read by their engines. Empty if each has a number.
std::string UnreadableEnginesText(const std::vector<Replica>& replicas);

}  // namespace gpuscaler
