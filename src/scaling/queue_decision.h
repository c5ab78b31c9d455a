// Decisions on metrics that belong to no replica: a queue, a gateway's metrics endpoint.
#pragma once

#include <string>

#include "scaling/decision.h"

namespace gpuscaler {

// Why a number has no value before its first reading.
inline constexpr char kNotReadYet[] = "not read yet";

// The value is the number itself, whatever the targetType, and needs no pod, GPU or
// node. Returns UNAVAILABLE if it was not read for stale_after, and the status of `signals` if that
// is not OK.
Decision DecideOnQueue(const DecisionInputs& inputs);

// Returns the number at each address of an endpoint, for people: "10.0.0.1 12, 10.0.0.2 3". Empty
// if there is one address.
std::string PartsText(const SignalSeries& series);

}  // namespace gpuscaler
