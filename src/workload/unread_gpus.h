// GPUs that the kubelet gives to pods and that no source reads: Intel's. Their replicas are present
// and cannot be read, which is not an idle replica.
#pragma once

#include "absl/types/span.h"
#include "model/node_snapshot.h"
#include "workload/gpu_holders.h"

namespace gpuscaler {

// Adds each such GPU that a pod holds, without any value: a trigger on them is FAILED_PRECONDITION,
// and names them.
void AddUnreadGpus(absl::Span<const PodAllocation> pods, NodeSnapshot& snapshot);

}  // namespace gpuscaler
