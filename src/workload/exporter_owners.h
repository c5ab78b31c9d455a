// Adds owners to the pods in an exporter's exposition, and checks whether these are all pods.
#pragma once

#include "absl/time/time.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// An exposition without a pod may be that of an exporter that does not query the kubelet, or got no
// answer: it does not show either. It is believed if no GPU is in use. After pods were named, it
// takes a second such reading and 15 s. Not thread-safe: used by the sampler.
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
