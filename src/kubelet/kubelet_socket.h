// Calls to the kubelet on its unix sockets.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace gpuscaler {

class EventLoop;

// The default paths.
struct KubeletSockets {
  std::string pod_resources = "/var/lib/kubelet/pod-resources/kubelet.sock";
  // The first that exists is used. The second is that of an early version of the API.
  std::vector<std::string> pods_api = {"/var/lib/kubelet/pods-api/pods-api.sock",
                                       "/var/lib/kubelet/pods/kubelet.sock"};
};

// Returns what exists at the path instead of a socket: "a directory". Empty: a socket, nothing, or
// something that may not be inspected. If a socket does not exist yet, a pod that mounts it creates
// a directory.
std::string InPlaceOfSocket(const std::string& path);

// Calls `method` ("/package.Service/Method") with an empty request and returns the bytes of the
// response, at most `longest_answer`. Blocks for at most `timeout`, while `loop` does the work: a
// loop for each call would need descriptors, and the process ends if there are none. Connects for
// each call: one every few seconds costs next to nothing, and a restart of the kubelet needs no
// care. Errors begin with the path. PERMISSION_DENIED, NOT_FOUND, UNAVAILABLE: no connection.
// DEADLINE_EXCEEDED: no answer in time. All others are the kubelet's own. Thread-safe, but must not
// be called on the loop's thread.
absl::StatusOr<std::string> CallKubelet(EventLoop& loop, const std::string& path,
                                        const std::string& method, size_t longest_answer,
                                        absl::Duration timeout);

}  // namespace gpuscaler
