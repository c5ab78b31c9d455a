// Where the kernel and the kubelet tell of processes and pods.
#pragma once

#include <string>

namespace gpuscaler {

struct NodeFolders {
  std::string proc = "/proc";
  std::string pod_logs = "/var/log/pods";
};

}  // namespace gpuscaler
