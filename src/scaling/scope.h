// The GPUs in a trigger's scope, and their readings over time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/fleet_history.h"
#include "scaling/node_view.h"
#include "trigger/trigger.h"

namespace gpuscaler {

struct GpuSeries {
  std::string name;  // node/index; node/index/uuid for a MIG instance
  std::string uuid;
  size_t node = 0;                   // index in ScopedFleet::nodes
  int position = -1;                 // index in its node's newest reading; -1: gone
  std::vector<GpuPointView> points;  // one for each run of its node
  // The share if the replica only possibly holds the GPU. Such a point has no known value.
  static constexpr float kNoKnownShare = -1;
  // The replica's share of each point, 0 to 1, or kNoKnownShare. Empty: all of it.
  std::vector<float> shares;
  absl::Time pod_since = absl::InfinitePast();  // when a pod got this GPU

  bool present() const { return position >= 0; }
};

// Points into the fleet that it was made from.
struct ScopedFleet {
  absl::Time now;
  std::vector<NodeView> nodes;
  // Node by node: first those present, by index, then those that are gone.
  std::vector<GpuSeries> gpus;
};

std::string NameOf(absl::string_view node, const NodeLayout::Gpu& gpu);

// The index is usually `likely`. -1: the GPU is not in `gpus`.
int PositionOf(const std::vector<NodeLayout::Gpu>& gpus, absl::string_view uuid, size_t likely);

// Returns FAILED_PRECONDITION if no node has the trigger's gpuIndex. The text lists the indices.
absl::Status CheckIndex(const Trigger& trigger, const FleetHistory& fleet);

// Returns FAILED_PRECONDITION if there are GPUs but none has the trigger's metric. The text names
// them.
absl::Status CheckMetric(const Trigger& trigger, std::span<const NodeView> views,
                         std::span<const GpuSeries> gpus);

// Returns all GPUs in scope, whatever holds them, or the error of the two checks above. A GPU with
// MIG instances counts only for a metric that its instances lack, such as power. A fleet without
// GPUs is no error. Each history is cut to the trigger's look-back.
absl::StatusOr<ScopedFleet> ScopeOf(const Trigger& trigger, const FleetHistory& fleet,
                                    const StalenessLimits& staleness);

}  // namespace gpuscaler
