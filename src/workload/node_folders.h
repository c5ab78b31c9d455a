// The folders of the kernel, the kubelet and a DRA driver with processes, pods and claims.
#pragma once

#include <string>

namespace gpuscaler {

struct NodeFolders {
  std::string proc = "/proc";
  std::string pod_logs = "/var/log/pods";
  std::string cdi = "/var/run/cdi";
  std::string dra_plugin = "/var/lib/kubelet/plugins/gpu.nvidia.com";
};

}  // namespace gpuscaler
