// The state of all nodes at one instant: the input of scaling decisions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "model/node_history.h"

namespace gpuscaler {

// One node as its agent reported it. All times are on the reader's own clock.
struct NodeState {
  std::string node;
  std::shared_ptr<const NodeHistory> history;  // never null
  absl::Time received_at;  // the agent's last message, even one without new readings
  // Why the agent is disconnected: "connection refused". Empty: it is connected.
  std::string why_disconnected;
  // The agents, if two live ones with different GPUs claim the node for longer than --grace. Empty:
  // no conflict.
  std::string disputed;
};

// How many agents that never reported are named.
constexpr size_t kUnreachedNamed = 3;

// Immutable once shared.
struct FleetHistory {
  // Increases with each change. Results computed from an equal number are still valid.
  int64_t generation = 0;
  absl::Time now;  // the instant for which decisions are made
  // If no message arrives, the nodes stay as they are until then: an agent becomes stale by time
  // alone.
  absl::Time valid_until = absl::InfiniteFuture();
  std::vector<NodeState> nodes;  // each node once
  // Addresses of agents that are listed but never reported, each with the reason if it is known.
  // The pods on their nodes are unknown. These agents joined later than the others, or waiting for
  // them timed out. They block no decision: a joining node is new, and dead agents stay listed.
  std::vector<std::string> unreached;  // the first kUnreachedNamed
  size_t unreached_count = 0;
  bool none_listed = false;  // no agent is listed at all
  // Layouts of some nodes outside `nodes`, if the requested pods are on no node. They show which
  // pods hold GPUs there, for explanations only.
  std::vector<std::shared_ptr<const NodeLayout>> others;
  // Some node of the whole fleet, in `nodes` or not, queries its kubelet for the holders of GPUs.
  // Then a GPU without a known owner is no replica, on any node.
  bool queries_kubelets = false;
};

inline bool QueriesKubelet(const NodeState& state) {
  return state.history->runs.back().layout()->attribution.state != Attribution::State::kNone;
}

// A fleet of one node, at the time of the node's newest reading.
inline FleetHistory FleetOfOne(std::shared_ptr<const NodeHistory> history) {
  FleetHistory fleet{.generation = history->generation, .now = history->NewestAt()};
  NodeState& state = fleet.nodes.emplace_back();
  state.node = history->Newest().node;
  state.history = std::move(history);
  state.received_at = fleet.now;
  fleet.queries_kubelets = QueriesKubelet(state);
  return fleet;
}

}  // namespace gpuscaler
