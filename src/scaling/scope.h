// Which GPUs a trigger looks at, and what each showed over time.
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
  std::string name;  // node/index, of a MIG instance node/index/uuid
  std::string uuid;
  size_t node = 0;                  // its place in ScopedFleet::nodes
  int position = -1;                // in its node's newest reading; -1: gone
  std::vector<StoredPoint> points;  // one for each of its node's runs
  // A point of a GPU that the replica holds or does not, which nothing shows, has no known value.
  static constexpr float kNoKnownShare = -1;
  // What of each point is the replica's, 0 to 1, or kNoKnownShare; empty: all of it.
  std::vector<float> shares;
  absl::Time pod_since = absl::InfinitePast();  // of a pod's GPU: when the pod got it

  bool present() const { return position >= 0; }
};

// Points into the fleet it was made from.
struct ScopedFleet {
  absl::Time now;
  std::vector<NodeView> nodes;
  // Node by node, of each those present by index, then those that have gone.
  std::vector<GpuSeries> gpus;
};

std::string NameOf(absl::string_view node, const NodeLayout::Gpu& gpu);

// Where `gpus` has that GPU, usually at `likely`; -1: it has not.
int PositionOf(const std::vector<NodeLayout::Gpu>& gpus, absl::string_view uuid, size_t likely);

// FAILED_PRECONDITION: no node has the trigger's gpuIndex; the text names those that there are.
absl::Status CheckIndex(const Trigger& trigger, const FleetHistory& fleet);

// FAILED_PRECONDITION: there are GPUs, and none has the trigger's metric; the text names them.
absl::Status CheckMetric(const Trigger& trigger, std::span<const NodeView> views,
                         std::span<const GpuSeries> gpus);

// FAILED_PRECONDITION: as these two. All GPUs, whoever holds them. A GPU split into MIG
// instances counts only for a metric that its instances lack, such as power. No GPU at all is no
// error. Each history is cut to what the trigger looks back on.
absl::StatusOr<ScopedFleet> ScopeOf(const Trigger& trigger, const FleetHistory& fleet,
                                    const StalenessLimits& staleness);

}  // namespace gpuscaler
