// Decisions on metrics that belong to no replica: a queue, a gateway's metrics endpoint.
#pragma once

#include <string>

#include "scaling/decision.h"

namespace gpuscaler {

// The text of a missing number before its first reading.
inline constexpr char kNotReadYet[] = "not read yet";

// The value is the number itself, for every targetType. Needs no pod, GPU or node. Its status is
// UNAVAILABLE if the number was not read for stale_after, or the error of `signals`.
Decision DecideOnQueue(const DecisionInputs& inputs);

// Returns the number at each address of an endpoint, for people: "10.0.0.1 12, 10.0.0.2 3". Empty
// if there is one address.
std::string PartsText(const SignalSeries& series);

}  // namespace gpuscaler
