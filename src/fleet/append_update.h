// Appends an agent's update to the history of its node.
#pragma once

#include <memory>
#include <vector>

#include "fleet/agent_update.h"
#include "model/node_history.h"

namespace gpuscaler {

// Returns `before` with the update. Both are null while there is no reading. Readings that are not
// newer are ignored: an agent sends its last ones again after a reconnect, and another agent of the
// node sends its whole history. The result is a copy if `before` has other owners; otherwise
// `before` itself is extended.
std::shared_ptr<NodeHistory> AppendUpdate(std::shared_ptr<NodeHistory> before, AgentUpdate update,
                                          const NodeHistory::Limits& limits);

// Returns the part of the update after `at`, when the node's former agent made its last reading.
// The reading that is valid at `at` comes first, with a time 1 us after `at`, because the former
// agent's may differ.
std::vector<AgentUpdate::Reading> ReadingsAfter(absl::Time at, const AgentUpdate& update);

}  // namespace gpuscaler
