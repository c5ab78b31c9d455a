// The possible owners of a pod, by the form of its name. Used if the kubelet reports no owners.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "model/pod.h"

namespace gpuscaler {

// Returns every owner that gives its pods names like this one, each once; one of them applies.
// Empty if the name has no known form or was cut, so that it lacks the owner's name.
//
//   OwnersByName("web-6d4cf56db6-x7k2p"): Deployment web, Rollout web
//   OwnersByName("web-x7k2p"): ReplicaSet web, DaemonSet web, Job web
//   OwnersByName("web-0"): StatefulSet web, LeaderWorkerSet web (group web-0)
std::vector<PodOwner> OwnersByName(absl::string_view pod);

}  // namespace gpuscaler
