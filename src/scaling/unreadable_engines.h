// Engines that give no number, in words: unknown is never silent (DESIGN 6).
#pragma once

#include <string>
#include <vector>

#include "model/signal_history.h"
#include "scaling/replica.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// "http://llm:8000 has no address: ..."
std::string NoAddressText(const EngineEndpoint& endpoint);

// "no engine is found (node gpu-7: its agent does not look for engines)", of those without a name;
// one reason of those that there may be.
std::string NoneFoundText(const SignalHistory& signals);

// Whether engines are looked for on all of its nodes.
bool IsLookedForIn(const Replica& replica, const SignalHistory& signals);

// Why none is found in a pod of the replica's, or on its node; empty: not told.
std::string WhyNotFoundIn(const Replica& replica, const SignalHistory& signals);

// "no number from the engines of 2 replicas: llm-a (connection refused), llm-b (...)", of those
// present that are read by their engines; empty: each gives one.
std::string UnreadableEnginesText(const std::vector<Replica>& replicas);

}  // namespace gpuscaler
