#include "model/fleet_history.h"

#include <utility>

namespace gpuscaler {

bool AsksKubelet(const NodeTrack& track) {
  return track.history->stretches.back().layout()->attribution.state != Attribution::State::kNone;
}

FleetHistory FleetOfOne(std::shared_ptr<const NodeHistory> history) {
  FleetHistory fleet{.generation = history->generation, .now = history->NewestAt()};
  NodeTrack& track = fleet.nodes.emplace_back();
  track.node = history->Newest().node;
  track.history = std::move(history);
  track.heard_at = fleet.now;
  fleet.asks_kubelets = AsksKubelet(track);
  return fleet;
}

}  // namespace gpuscaler
