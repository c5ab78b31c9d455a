// Readings of a node's GPUs while pods of a workload held them.
#pragma once

#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "scaling/node_view.h"
#include "scaling/scope.h"
#include "scaling/workload_pods.h"

namespace gpuscaler {

struct PodGpus {
  const Pod* pod = nullptr;  // as first seen
  // Never empty. A point is empty if the pod did not hold the GPU then. A MIG instance without the
  // trigger's metric has that of its GPU, divided by the number of instances.
  std::vector<GpuSeries> gpus;
  // When it was first seen Ready. InfiniteFuture: never yet; empty: not known to its node.
  std::optional<absl::Time> ready_at;
  bool is_terminating = false;  // in its newest layout
  // When its deletion was first seen. InfiniteFuture: it was not deleted.
  absl::Time ending_since = absl::InfiniteFuture();
  // As its node last reported. If the agent does not report it: when the pod was first found in the
  // history.
  absl::Time listed_since = absl::InfinitePast();
};

// Returns the pods that held one of the node's GPUs within the view. While owners are not known,
// the last known ones apply. `node` is the index of the view, for GpuSeries::node.
std::vector<PodGpus> GpusOfPods(const Trigger& trigger, const PodSelection& selection,
                                const NodeView& view, size_t node);

}  // namespace gpuscaler
