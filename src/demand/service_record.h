// The part of an engine's demand that its agent keeps, for aggregators that have not read as much
// of it.
#pragma once

#include "absl/time/time.h"
#include "model/engine_demand.h"

namespace gpuscaler {

// Tokens per answer: over this time, or longer until there are enough answers.
inline constexpr absl::Duration kAnswersWindow = absl::Seconds(300);
inline constexpr double kEnoughAnswers = 200;

// A batch of two requests or more was seen, or answers were.
bool ShowsService(const EngineDemand& demand);

// Returns the service and the newest answers, without arrivals.
EngineDemand ServiceRecordOf(const EngineDemand& demand);

// Returns `own` with the service that was kept, and with the answers that were if there are few of
// the last 15 minutes. An aggregator that has just started and one that ran all along then return
// the same. Unless the agent has just started: it keeps less than was read here.
EngineDemand WithServiceRecord(EngineDemand own, const EngineDemand& kept);

// Removes what is in the agent's record of the same engine.
void RemoveService(EngineDemand& demand);

}  // namespace gpuscaler
