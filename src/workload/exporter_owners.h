// Whose the pods are that dcgm-exporter's page names, and whether what it names is all there is.
#pragma once

#include "absl/time/time.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// A page without a pod may be that of an exporter that does not ask the kubelet, or got no answer:
// it has no word for either. It is believed where no GPU is in use, and, after pods were named, by
// the second such reading and 15 s. Not thread-safe: the sampler's own.
class ExporterOwners {
 public:
  // Fills the pods' owners, by their names, and `attribution`. Logs changes.
  void Annotate(NodeSnapshot& snapshot);

 private:
  Attribution TriggerEvaluator(const NodeSnapshot& snapshot);

  bool named_ = false;                              // pods, by the last reading that is believed
  absl::Time none_since_ = absl::InfiniteFuture();  // which readings since have named none
  Attribution last_;
};

}  // namespace gpuscaler
