// Whose a pod is, as its own references and its controllers' labels tell.
#pragma once

#include <vector>

#include "kubelet/kubelet_pods.h"
#include "model/pod.h"

namespace gpuscaler {

// All owners that can be told, the nearest first: a reference names the nearest only, what stands
// behind it is in labels that the controllers put there.
std::vector<PodOwner> OwnersByReference(const KubeletPod& pod);

}  // namespace gpuscaler
