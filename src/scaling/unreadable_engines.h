// Texts on engines without readings: unknown is always reported.
#pragma once

#include <string>
#include <vector>

#include "model/signal_history.h"
#include "scaling/replica.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Returns "http://llm:8000 has no address: ...".
std::string NoAddressText(const EngineEndpoint& endpoint);

// Returns "no engine is found (node gpu-7: its agent does not look for engines)", for a trigger
// without an endpoint. It names one of several reasons.
std::string NoneFoundText(const SignalHistory& signals);

// Returns whether engines are looked for on all nodes of the replica.
bool IsLookedForIn(const Replica& replica, const SignalHistory& signals);

// The reason is about a pod of the replica or its node. Empty: not known.
std::string WhyNotFoundIn(const Replica& replica, const SignalHistory& signals);

// Returns "no number from the engines of 2 replicas: llm-a (connection refused), llm-b (...)", for
// present replicas that are read by their engines. Empty if each has a number.
std::string UnreadableEnginesText(const std::vector<Replica>& replicas);

}  // namespace gpuscaler
