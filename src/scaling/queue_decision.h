// Decisions on what belongs to no replica: a queue, a gateway's page.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "scaling/decision.h"

namespace gpuscaler {

// The value is the number itself, whatever the targetType (DESIGN 2), and no pod, GPU or node has
// to be there. UNAVAILABLE once it was not read for stale_after; what the history's status says is
// handed on. `signals` null: nobody reads it.
Decision DecideOnQueue(const Trigger& trigger, absl::Time now, const SignalHistory* signals,
                       const StalenessLimits& staleness);

// Returns the number of each address of a page, for people: "10.0.0.1 12, 10.0.0.2 3". Empty if
// there is one.
std::string PartsText(const SignalSeries& series);

}  // namespace gpuscaler
