#include "model/fleet_history.h"

#include <utility>

namespace gpuscaler {

bool QueriesKubelet(const NodeState& state) {
  return state.history->runs.back().layout()->attribution.state != Attribution::State::kNone;
}

FleetHistory FleetOfOne(std::shared_ptr<const NodeHistory> history) {
  FleetHistory fleet{.generation = history->generation, .now = history->NewestAt()};
  NodeState& state = fleet.nodes.emplace_back();
  state.node = history->Newest().node;
  state.history = std::move(history);
  state.received_at = fleet.now;
  fleet.queries_kubelets = QueriesKubelet(state);
  return fleet;
}

}  // namespace gpuscaler
