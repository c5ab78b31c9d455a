// The pods of the demo's node, as its kubelet lists them.
#pragma once

#include "kubelet/fake_kubelet.h"
#include "lab/demo_replica.h"

namespace gpuscaler {

// Returns the pod of a replica: one of the Deployment that the ScaledObject scales, with one GPU.
FakeKubelet::Pod DemoReplicaPod(const DemoReplica& replica);

// Returns the gateway's pod, which has no GPU. A kubelet that lists no pod at all counts as one
// that has just started, so without replicas the owners of GPUs would be unknown.
FakeKubelet::Pod DemoGatewayPod();

}  // namespace gpuscaler
