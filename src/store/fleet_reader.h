// What decisions are made on, whoever gathers it: this node's readings alone, or a whole fleet's.
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
  using Fleet = std::shared_ptr<const FleetHistory>;

  virtual ~FleetReader() = default;

  // What these pods may be on. UNAVAILABLE while too little is known to decide on:
  // the HPA then holds, where a made-up 0 would scale a busy workload in.
  virtual absl::StatusOr<Fleet> Of(const PodInterest& wanted) const = 0;

  // Every node; otherwise the same.
  virtual absl::StatusOr<Fleet> All() const = 0;

  // The status that both would have now.
  virtual absl::Status Check() const = 0;

  // When the newest reading of all was taken; InfinitePast before the first.
  virtual absl::Time NewestAt() const = 0;

  struct Changes {
    int64_t generation = 0;  // the newest
    bool of_all = false;     // something that all decisions depend on
    // Of a namespace besides its owners', whoever's.
    std::vector<PodsOf> pods;
  };
  // What decisions depend on that has changed behind `generation`.
  virtual Changes ChangedSince(int64_t generation) const = 0;

  // Whether Of() gives what the pods of the owner that is wanted are on, and not whoever's: until
  // these have changed.
  virtual bool Knows(const PodInterest& wanted) const = 0;

  // Blocks until there is something newer than `generation`, `timeout` of real time has passed or
  // no more is to come; the newest generation then, 0 before the first.
  virtual int64_t WaitForGeneration(int64_t generation, absl::Duration timeout) const = 0;
};

}  // namespace gpuscaler
