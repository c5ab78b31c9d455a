// Whose a pod may be, by the form that controllers give the names of their pods: what a node knows
// where the kubelet does not tell owners.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "model/pod.h"

namespace gpuscaler {

// Every owner whose pods have names like this one, each once; one of them holds. Empty for a name
// of no known form, and for one that was cut: its owner's name is not in it.
//
//   OwnersByName("web-6d4cf56db6-x7k2p"): Deployment web, Rollout web
//   OwnersByName("web-x7k2p"): ReplicaSet web, DaemonSet web, Job web
//   OwnersByName("web-0"): StatefulSet web, LeaderWorkerSet web (group web-0)
std::vector<PodOwner> OwnersByName(absl::string_view pod);

}  // namespace gpuscaler
