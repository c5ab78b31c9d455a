// The interface through which decisions read GPUs: those of this node, or of a whole fleet.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/fleet_history.h"
#include "model/pod_interest.h"

namespace gpuscaler {

// Thread-safe. Readers get an immutable history and hold no lock while they use it.
class FleetReader {
 public:
  using FleetPtr = std::shared_ptr<const FleetHistory>;

  virtual ~FleetReader() = default;

  // Includes every node that these pods may be on. Returns UNAVAILABLE while readings do not
  // suffice for a decision: the HPA then holds, whereas a made-up 0 would scale in a busy workload.
  virtual absl::StatusOr<FleetPtr> NodesFor(const PodInterest& wanted) const = 0;

  // UNAVAILABLE in the same cases as NodesFor().
  virtual absl::StatusOr<FleetPtr> AllNodes() const = 0;

  // Returns the status that NodesFor() and AllNodes() would return.
  virtual absl::Status Check() const = 0;

  // InfinitePast before the first reading.
  virtual absl::Time NewestAt() const = 0;

  struct Changes {
    int64_t generation = 0;    // the newest
    bool affects_all = false;  // true: all decisions may change
    // The owners with changed pods. A namespace with any change is also listed without an owner.
    std::vector<OwnerKey> pods;
  };
  virtual Changes ChangedSince(int64_t generation) const = 0;

  // Returns true if NodesFor() returns only the nodes of the wanted owner's pods, and false if it
  // returns those of any owner's pods. May change only when these pods change.
  virtual bool IsOwnerKnown(const PodInterest& wanted) const = 0;

  // Blocks until there is a generation newer than `generation`, `timeout` of real time has passed,
  // or the reader is closed. Returns the newest generation, 0 before the first.
  virtual int64_t WaitForGeneration(int64_t generation, absl::Duration timeout) const = 0;
};

}  // namespace gpuscaler
