// Decisions on metrics that belong to no replica: a queue, a gateway's metrics endpoint.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "scaling/decision.h"

namespace gpuscaler {

// The value is the number itself, whatever the targetType, and needs no pod, GPU or
// node. Returns UNAVAILABLE if it was not read for stale_after, and the status of `signals` if that
// is not OK. `signals` is null if the source is not read.
Decision DecideOnQueue(const Trigger& trigger, absl::Time now, const SignalHistory* signals,
                       const StalenessLimits& staleness);

// Returns the number at each address of an endpoint, for people: "10.0.0.1 12, 10.0.0.2 3". Empty
// if there is one address.
std::string PartsText(const SignalSeries& series);

}  // namespace gpuscaler
