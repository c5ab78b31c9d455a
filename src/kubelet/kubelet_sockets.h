// The default socket paths of a kubelet.
#pragma once

#include <string>
#include <vector>

namespace gpuscaler {

struct KubeletSockets {
  std::string pod_resources = "/var/lib/kubelet/pod-resources/kubelet.sock";
  // The first that exists is used. The second is that of an early version of the API.
  std::vector<std::string> pods_api = {"/var/lib/kubelet/pods-api/pods-api.sock",
                                       "/var/lib/kubelet/pods/kubelet.sock"};
};

}  // namespace gpuscaler
