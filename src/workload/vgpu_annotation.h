// GPUs that HAMi's or Volcano's scheduler gave a pod. The ids that the kubelet chose name other
// GPUs.
#pragma once

#include <vector>

#include "kubelet/kubelet_pods.h"
#include "kubelet/pod_resources.h"

namespace gpuscaler {

// Returns the devices with those of HAMi and Volcano ("GPU-<uuid>-3") replaced by shares of the
// GPUs in the pod's annotation ("GPU-<uuid>::0"). If the annotation is missing or does not show
// which container has which GPU, they stay as they are.
std::vector<PodDevice> WithAllocatedGpus(std::vector<PodDevice> devices, const KubeletPod& pod);

}  // namespace gpuscaler
