// What the names of this cluster's Services end with.
#pragma once

#include <string>

namespace gpuscaler {

// "cluster.local", of "svc.cluster.local" in the search list that a pod's resolver has from its
// kubelet. Empty: there is none, as outside of a cluster or with a dnsPolicy other than
// ClusterFirst.
std::string ClusterDomainHere();

}  // namespace gpuscaler
