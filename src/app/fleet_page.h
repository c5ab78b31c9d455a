// What `gpus --fleet` prints: every node that a running scaler knows, and what it leaves out and
// why.
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
    NodeSnapshot snapshot;  // times by the clock of who asked
    absl::Duration age;     // of that reading, or since it was last found unchanged
    absl::Duration received_ago;
    std::string silence;   // why its agent is not heard; empty: it is
    std::string left_out;  // why its GPUs do not count now; empty: they do
  };
  std::string address;  // that was asked
  absl::Time time;
  gpuscaler::v1::FleetView view;
  std::vector<Node> nodes;
};

// INVALID_ARGUMENT: a reading in it is none.
absl::StatusOr<FleetPage> FleetPageOf(const std::string& address, gpuscaler::v1::FleetView view,
                                      absl::Time now);

std::string FleetTable(const FleetPage& page);
std::string FleetJson(const FleetPage& page);

}  // namespace gpuscaler
