// GPUs that the driver no longer counts while the kubelet still lists a pod on them: their replicas
// are unreadable, and not gone.
#pragma once

#include <map>
#include <string>

#include "absl/types/span.h"
#include "model/node_snapshot.h"
#include "workload/gpu_holders.h"

namespace gpuscaler {

// Not thread-safe: used by the sampler.
class LostGpus {
 public:
  // Adds such GPUs to the snapshot, each as it was last seen but with every reading failed. A GPU
  // that this agent never saw, as after a restart, is added only if the kubelet's id is the UUID of
  // a whole GPU of NVIDIA's. None is added while the driver counts a GPU with an unknown UUID,
  // which may be the lost one.
  void AddTo(NodeSnapshot& snapshot, absl::Span<const PodAllocation> pods);

 private:
  void Remember(const NodeSnapshot& snapshot, absl::Span<const PodAllocation> pods);

  std::map<std::string, GpuSample> seen_;  // key: UUID
};

}  // namespace gpuscaler
