// Where a kubelet listens.
#pragma once

#include <string>
#include <vector>

namespace gpuscaler {

struct KubeletSockets {
  std::string pod_resources = "/var/lib/kubelet/pod-resources/kubelet.sock";
  // The first that is there; the second is of an early form of the API.
  std::vector<std::string> pods_api = {"/var/lib/kubelet/pods-api/pods-api.sock",
                                       "/var/lib/kubelet/pods/kubelet.sock"};
};

}  // namespace gpuscaler
