// Whether an inactive workload is still inactive, without a new decision: most updates of its nodes
// are about other pods, or repeat that its own GPUs are idle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "model/fleet_history.h"
#include "scaling/decision.h"
#include "scaling/node_view.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// The inputs of an inactive decision, as far as its activity depends on them. Not thread-safe.
class IdleFastPath {
 public:
  // Returns nothing if more than a GPU above activationThreshold may make the workload active. That
  // is so while a replica starts, warms up or is remembered, and if a replica spans several nodes
  // or uses a MIG instance. It is also so if GPUs cannot be read or are shared, if readings come
  // from engines or a gateway, and without owners. If memory may be preallocated, any new reading
  // of its own GPUs may count.
  static std::optional<IdleFastPath> Of(const Trigger& trigger, const FleetHistory& fleet,
                                        const StalenessLimits& staleness, const Decision& decision);

  // Requires a later state of the same fleet, and no update of engines in between. Returns until
  // when a decision on `fleet` is OK and inactive if no new reading comes; the next call continues
  // from `fleet`. Returns nothing if a new decision is needed; the object must not be used again.
  std::optional<absl::Time> StandsOn(const FleetHistory& fleet);

  size_t size_bytes() const;

 private:
  // The last position in a node's history.
  struct Mark {
    absl::Time first;  // begin of its newest run
    // Pods and holders. If these change, or fewer are remembered, a new decision is needed.
    std::shared_ptr<const NodeLayout> layout;
    // If it is another one, the history was sent anew.
    std::shared_ptr<const NodeLayout> oldest_layout;
    bool has_replicas = false;
    std::vector<uint32_t> places;  // indices of the replicas' GPUs in the layout
    // If memory may be preallocated: the last reading and the memory of each of these GPUs.
    std::vector<GpuPoint> shown;
    std::vector<SteadyMemory::Parts> memory;
  };

  IdleFastPath(const Trigger& trigger, const StalenessLimits& staleness);

  Mark MarkOf(const NodeState& state) const;
  // Returns false if one of its GPUs may count by more than its reading.
  bool AddReplica(const Trigger& trigger, const FleetHistory& fleet,
                  const Contribution& contribution);
  bool AddGpu(const Trigger& trigger, const std::string& uuid, const NodeHistory& history,
              Mark& mark) const;

  bool Continues(const NodeState& state, absl::Time now, Mark& mark) const;
  bool IsRead(const NodeState& state, absl::Time now) const;
  bool IsUnchanged(const StoredPoints& points, const Mark& mark) const;
  // Returns whether no run of steady memory began or was forgotten.
  static bool IsSameMemory(const NodeHistory& history, const Mark& mark);

  GpuReading reading_;
  float threshold_;  // the same for each GPU
  absl::Duration activation_window_;
  absl::Duration stale_after_;
  bool evaluates_preallocated_memory_;
  absl::Time idle_until_;
  std::vector<Mark> marks_;  // one for each node of the fleet
};

}  // namespace gpuscaler
