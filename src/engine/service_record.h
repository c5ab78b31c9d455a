// The part of an engine's demand that its agent keeps for aggregators with fewer readings of it.
#pragma once

#include "absl/time/time.h"
#include "model/engine_demand.h"

namespace gpuscaler {

// Tokens per answer are averaged over this time, or longer until there are enough answers.
inline constexpr absl::Duration kAnswersWindow = absl::Seconds(300);
inline constexpr double kEnoughAnswers = 200;

// Returns true if a batch of two requests or more, or an answer, was observed.
bool ShowsService(const EngineDemand& demand);

// Returns the service and the newest answers, without arrivals.
EngineDemand ServiceRecordOf(const EngineDemand& demand);

// Returns `own` with the kept service, and with the kept answers if there are few in the last 15
// minutes. A restarted aggregator then returns the same as one that ran all along. If the agent has
// just started, `kept` has less than `own` and is ignored.
EngineDemand WithServiceRecord(EngineDemand own, const EngineDemand& kept);

// Removes the parts that the agent's record of the same engine has.
void RemoveService(EngineDemand& demand);

}  // namespace gpuscaler
