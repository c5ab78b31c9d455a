#include "model/fleet_history.h"

#include <utility>

namespace gpuscaler {

bool AsksKubelet(const NodeState& state) {
  return state.history->runs.back().layout()->attribution.state != Attribution::State::kNone;
}

FleetHistory FleetOfOne(std::shared_ptr<const NodeHistory> history) {
  FleetHistory fleet{.generation = history->generation, .now = history->NewestAt()};
  NodeState& state = fleet.nodes.emplace_back();
  state.node = history->Newest().node;
  state.history = std::move(history);
  state.received_at = fleet.now;
  fleet.asks_kubelets = AsksKubelet(state);
  return fleet;
}

}  // namespace gpuscaler
