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
  // Returns nullopt if anything but a reading above activationThreshold can make the workload
  // active:
  // - a replica that is starting, or left within the look-back
  // - a replica on several nodes, on a MIG instance, or on a GPU that is shared or unreadable
  // - readings of engines or of a gateway, or GPUs without known owners
  // If memory may be preallocated, each changed reading of the workload's GPUs needs a new
  // decision.
  static std::optional<IdleFastPath> Of(const Trigger& trigger, const FleetHistory& fleet,
                                        const StalenessLimits& staleness, const Decision& decision);

  // Returns until when the workload stays inactive if no new reading comes. Returns nullopt if a
  // new decision is needed; the object must then not be used again. Requires a later state of the
  // same fleet than at the last call, without updates of engines since.
  std::optional<absl::Time> InactiveUntil(const FleetHistory& fleet);

  size_t size_bytes() const;

 private:
  // The last position in a node's history.
  struct NodeCursor {
    absl::Time run_begin;  // its newest run begins then
    // Pods and holders. If these change, or fewer are remembered, a new decision is needed.
    std::shared_ptr<const NodeLayout> layout;
    // If it is another one, the history was sent anew.
    std::shared_ptr<const NodeLayout> oldest_layout;
    std::vector<uint32_t> gpu_indices;  // the replicas' GPUs in the layout; empty: no replica
    // If memory may be preallocated: the memory of each of these GPUs.
    std::vector<SteadyMemory> memory;
  };

  IdleFastPath(const Trigger& trigger, const StalenessLimits& staleness);

  // Returns false if the readings of its GPUs alone do not determine whether it is active.
  bool AddReplica(const Trigger& trigger, const FleetHistory& fleet,
                  const Contribution& contribution);
  bool AddGpu(const Trigger& trigger, const std::string& uuid, const NodeHistory& history,
              NodeCursor& cursor) const;

  bool Continues(const NodeState& state, absl::Time now, NodeCursor& cursor) const;
  bool IsRead(const NodeState& state, absl::Time now) const;
  // Returns true if the readings of `run` leave the workload inactive: none exceeds the threshold,
  // or, if memory may be preallocated, each equals the one before.
  bool StaysInactive(const NodeRun& run, const NodeRun& before, const NodeCursor& cursor) const;
  // Returns whether no run of steady memory began or was forgotten.
  static bool IsSameMemory(const NodeHistory& history, const NodeCursor& cursor);

  GpuReading reading_;
  float threshold_;  // the same for each GPU
  absl::Duration activation_window_;
  absl::Duration stale_after_;
  bool evaluates_preallocated_memory_;
  absl::Time idle_until_;
  std::vector<NodeCursor> cursors_;  // one for each node of the fleet
};

}  // namespace gpuscaler
