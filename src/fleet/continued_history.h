// How what an agent says continues the history of its node.
#pragma once

#include <memory>
#include <vector>

#include "fleet/agent_update.h"
#include "model/node_history.h"

namespace gpuscaler {

// `before` and the news; null: nothing is known yet. What is not newer is passed over: an agent
// that is heard again repeats a little, and another one of the same node all of its past. Whoever
// has a share of `before` keeps it as it is; where nobody else has, it is made the next one.
std::shared_ptr<NodeHistory> Continued(std::shared_ptr<NodeHistory> before, AgentUpdate update,
                                       const NodeHistory::Limits& limits);

// The readings after `at`, and before them the one that still stood then, as of a moment later: it
// may differ from what another agent read.
std::vector<AgentUpdate::Reading> ReadingsAfter(absl::Time at, const AgentUpdate& update);

}  // namespace gpuscaler
