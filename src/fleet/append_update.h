// Appends an agent's update to the history of its node.
#pragma once

#include <memory>
#include <vector>

#include "fleet/agent_update.h"
#include "model/node_history.h"

namespace gpuscaler {

// Returns `before` with the update; null: no reading yet. Readings that are not newer are ignored:
// an agent repeats a little after a reconnect, and another agent of the node repeats its whole
// history. If others share `before`, the result is a copy; otherwise `before` itself is extended.
std::shared_ptr<NodeHistory> AppendUpdate(std::shared_ptr<NodeHistory> before, AgentUpdate update,
                                          const NodeHistory::Limits& limits);

// The reading that was still valid at `at` comes first, with a time 1 us after `at`, because the
// other agent's reading at `at` may differ.
std::vector<AgentUpdate::Reading> ReadingsAfter(absl::Time at, const AgentUpdate& update);

}  // namespace gpuscaler
