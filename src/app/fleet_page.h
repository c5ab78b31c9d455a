// The output of `gpus --fleet`: all nodes of a running scaler, and what it leaves out with the
// reason.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "fleetview.pb.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

struct FleetPage {
  struct Node {
    NodeSnapshot snapshot;  // with times of the caller's clock
    absl::Duration age;     // since the reading, or since it was last confirmed unchanged
    absl::Duration received_ago;
    std::string why_disconnected;  // why its agent is disconnected; empty: connected
    std::string left_out;          // why its GPUs do not count now; empty: they count
  };
  std::string address;  // address of the scaler
  absl::Time time;
  gpuscaler::v1::FleetView view;
  std::vector<Node> nodes;
};

// Returns INVALID_ARGUMENT if a reading in `view` is malformed.
absl::StatusOr<FleetPage> FleetPageOf(const std::string& address, gpuscaler::v1::FleetView view,
                                      absl::Time now);

std::string FleetTable(const FleetPage& page);
std::string FleetJson(const FleetPage& page);

}  // namespace gpuscaler
