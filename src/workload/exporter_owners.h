// Adds owners to the pods in an exporter's exposition, and decides whether one without pods is
// believed.
#pragma once

#include "absl/time/time.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// An exposition without pods may mean that no pod holds a GPU, or that the exporter does not query
// the kubelet, or that it got no answer. While a GPU is in use, the holders are therefore unknown.
// If none is in use, no pod holds a GPU: at once, or, if earlier expositions had pods, after 15 s
// without any. Not thread-safe: used by the sampler.
class ExporterOwners {
 public:
  // Fills the pods' owners by their names, and `attribution`. Logs changes.
  void Annotate(NodeSnapshot& snapshot);

 private:
  Attribution Evaluate(const NodeSnapshot& snapshot);

  bool named_ = false;                              // the last reading that was believed had pods
  absl::Time none_since_ = absl::InfiniteFuture();  // first of the present readings without a pod
  Attribution last_;
};

}  // namespace gpuscaler
