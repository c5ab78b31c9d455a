// Whether a workload that was found inactive still is, by a look at what is new: most news of its
// nodes are of other pods, or say once more that its own GPUs do nothing.
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

// What such a decision was made on, as far as it matters to that. Not thread-safe.
class IdleFastPath {
 public:
  // Nothing where more than a GPU above activationThreshold may make a new reading count: while a
  // replica comes, warms up or is remembered, of GPUs that cannot be read or that pods share, of
  // replicas on several nodes and MIG instances, of what engines say, and of all that is decided
  // without owners. Where
  // memory is valued by whether it stands, any other reading of its own GPUs may count.
  static std::optional<IdleFastPath> Of(const Trigger& trigger, const FleetHistory& fleet,
                                        const StalenessLimits& staleness, const Decision& decision);

  // `fleet` is the one before, later, and no engine has said anything since. A time: what is
  // decided on it is OK and inactive too, and will be until then if nothing more is heard; this is
  // compared with the next. Nothing: that has to be decided, and this is of no more use.
  std::optional<absl::Time> StandsOn(const FleetHistory& fleet);

  size_t size_bytes() const;

 private:
  // Where a node's history had come to.
  struct Mark {
    absl::Time first;  // of its newest run
    // Who holds what, and did: with other pods, or fewer that are remembered, all may be otherwise.
    std::shared_ptr<const NodeLayout> layout;
    std::shared_ptr<const NodeLayout> oldest_layout;  // another one's: all was told anew
    bool has_replicas = false;
    std::vector<uint32_t> places;  // of their GPUs, in the layout
    // Where memory is valued by whether it stands: what each of these shows, and its memory.
    std::vector<GpuPoint> shown;
    std::vector<SteadyMemory::Parts> memory;
  };

  IdleFastPath(const Trigger& trigger, const StalenessLimits& staleness);

  Mark MarkOf(const NodeState& state) const;
  // False: one of its GPUs may count otherwise than by its reading alone.
  bool AddReplica(const Trigger& trigger, const FleetHistory& fleet,
                  const Contribution& contribution);
  bool AddGpu(const Trigger& trigger, const std::string& uuid, const NodeHistory& history,
              Mark& mark) const;

  bool Continues(const NodeState& state, absl::Time now, Mark& mark) const;
  bool IsRead(const NodeState& state, absl::Time now) const;
  bool SaysNothingNew(const StoredPoints& points, const Mark& mark) const;
  // No other run of it has begun, and none that it remembers is forgotten.
  static bool IsSameMemory(const NodeHistory& history, const Mark& mark);

  GpuReading reading_;
  float threshold_;  // of each GPU
  absl::Duration activation_window_;
  absl::Duration stale_after_;
  bool evaluates_preallocated_memory_;
  absl::Time stands_until_;
  std::vector<Mark> marks_;  // of each node of the fleet
};

}  // namespace gpuscaler
