// The owners of a pod, by its owner references and the labels of its controllers.
#pragma once

#include <vector>

#include "kubelet/kubelet_pods.h"
#include "model/pod.h"

namespace gpuscaler {

// The nearest owner is first. A reference names only the nearest. The owners of that one are in
// labels that controllers set.
std::vector<PodOwner> OwnersByReference(const KubeletPod& pod);

}  // namespace gpuscaler
