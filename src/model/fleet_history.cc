#include "model/fleet_history.h"

#include <utility>

namespace gpuscaler {

FleetHistory FleetOfOne(std::shared_ptr<const NodeHistory> history) {
  FleetHistory fleet{.generation = history->generation, .now = history->NewestAt()};
  NodeTrack& track = fleet.nodes.emplace_back();
  track.node = history->Newest().node;
  track.history = std::move(history);
  track.heard_at = fleet.now;
  return fleet;
}

}  // namespace gpuscaler
