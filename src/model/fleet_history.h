// What is known of all nodes at one instant: what decisions are made from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/node_history.h"

namespace gpuscaler {

// One node as its agent told of it, all times on the reader's own clock.
struct NodeState {
  std::string node;
  std::shared_ptr<const NodeHistory> history;  // never null
  absl::Time received_at;                      // its agent's last word, news or not
  // Why its agent is not heard now: "connection refused". Empty: it is.
  std::string silence;
  // Two live agents with different GPUs claim the node for longer than --grace: which. Empty: no.
  std::string disputed;
};

// So many agents that were never heard are named.
constexpr size_t kUnreachedNamed = 3;

// Immutable once shared.
struct FleetHistory {
  // Counts up with each change; what was computed from an equal number is still right.
  int64_t generation = 0;
  absl::Time now;  // the instant that decisions are made for
  // Until then its tracks stand as they are, if nothing is heard: an agent falls silent by time
  // alone.
  absl::Time stands_until = absl::InfiniteFuture();
  std::vector<NodeState> nodes;  // each node once
  // Agents that are listed and were never heard, by their addresses, with the reason where one is
  // known: what runs on their nodes nobody here knows. They joined later than the others, or were
  // waited for in vain, and hold nobody up: a node that joins is new, and dead ones stay listed.
  std::vector<std::string> unreached;  // the first few: kUnreachedNamed
  size_t unreached_count = 0;
  // No agent is listed at all.
  bool none_listed = false;
  // Of some nodes that are not among `nodes`, where the pods that were asked for are on none: whose
  // pods hold GPUs there, for words alone.
  std::vector<std::shared_ptr<const NodeLayout>> others;
  // Some node of the whole fleet, be it among `nodes` or not, asks its kubelet who holds what: then
  // a GPU without a known owner is nobody's replica, on whichever node.
  bool asks_kubelets = false;
};

bool AsksKubelet(const NodeState& state);

// What one node alone knows of itself: its newest reading is now.
FleetHistory FleetOfOne(std::shared_ptr<const NodeHistory> history);

}  // namespace gpuscaler
