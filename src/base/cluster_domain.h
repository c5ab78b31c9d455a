// The domain at the end of this cluster's Service names.
#pragma once

#include <string>

namespace gpuscaler {

// Returns "cluster.local" if the resolver's search list has "svc.cluster.local", which kubelets
// write into a pod's /etc/resolv.conf. Returns "" outside a cluster, or if the pod's dnsPolicy is
// not ClusterFirst.
std::string ClusterDomainHere();

}  // namespace gpuscaler
