// Which GPUs a trigger looks at, and what each showed over time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/fleet_history.h"
#include "scaling/node_view.h"
#include "scaling/trigger.h"

namespace gpuscaler {

struct GpuSeries {
  std::string name;  // node/index, of a MIG instance node/index/uuid
  std::string uuid;
  size_t node = 0;                      // its place in ScopedFleet::nodes
  int position = -1;                    // in its node's newest reading; -1: gone
  std::vector<const GpuPoint*> points;  // one for each of its node's stretches; null: not there

  bool present() const { return position >= 0; }
};

// Points into the fleet it was made from.
struct ScopedFleet {
  absl::Time now;
  std::vector<NodeView> nodes;
  // Node by node, of each those present by index, then those that have gone.
  std::vector<GpuSeries> gpus;
};

// FAILED_PRECONDITION: no node has the trigger's gpuIndex, or no GPU in scope has its metric (the
// text names the devices). A GPU split into MIG instances counts only for a metric that its
// instances lack, such as power. No GPU at all is no error. Each history is cut to what the trigger
// looks back on.
absl::StatusOr<ScopedFleet> ScopeOf(const Trigger& trigger, const FleetHistory& fleet,
                                    const Patience& patience);

}  // namespace gpuscaler
