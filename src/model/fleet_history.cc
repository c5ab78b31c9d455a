#include "model/fleet_history.h"

#include <utility>

namespace gpuscaler {

FleetHistory FleetOfOne(std::shared_ptr<const NodeHistory> history) {
  FleetHistory fleet;
  fleet.generation = history->generation;
  fleet.now = history->NewestAt();
  fleet.nodes.push_back({.node = history->Newest().node,
                         .history = std::move(history),
                         .heard_at = fleet.now,
                         .silence = ""});
  return fleet;
}

}  // namespace gpuscaler
