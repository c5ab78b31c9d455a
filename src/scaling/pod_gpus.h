// What a node's GPUs showed while pods of a workload held them.
#pragma once

#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "scaling/node_view.h"
#include "scaling/scope.h"
#include "scaling/workload_pods.h"

namespace gpuscaler {

struct PodGpus {
  const Pod* pod = nullptr;  // as it was first seen
  // In each, no point is there while the pod did not hold the GPU. Of a MIG instance that lacks the
  // trigger's metric, its GPU's, divided by the instances.
  std::vector<GpuSeries> gpus;
  // When it was first seen Ready, InfiniteFuture: never yet; empty: its node does not know.
  std::optional<absl::Time> ready_at;
  bool is_ending = false;  // as of its newest layout
  // When its deletion was first seen, InfiniteFuture: it was not deleted.
  absl::Time ending_since = absl::InfiniteFuture();
  // As its node said last; of an agent that does not tell, when it was found first, as far as is
  // remembered.
  absl::Time listed_since = absl::InfinitePast();
};

// Of the pods that held one of the node's GPUs within the view. While owners are not known the last
// known ones stand. `node` is the view's place for GpuSeries.
std::vector<PodGpus> GpusOfPods(const Trigger& trigger, const PodSelection& selection,
                                const NodeView& view, size_t node);

}  // namespace gpuscaler
