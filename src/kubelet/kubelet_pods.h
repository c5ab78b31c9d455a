// Client of the kubelet's Pods API (proto/podsapi.proto): owners, labels, readiness and addresses
// of the node's pods. It needs no rights at the API server. On by default from Kubernetes 1.37.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace v1alpha1 {
class ListPodsResponse;
}

namespace gpuscaler {

class EventLoop;

struct OwnerReference {
  std::string kind;
  std::string name;
  bool is_controller = false;
};

struct KubeletPod {
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::map<std::string, std::string> labels;
  // Those of schedulers for shared GPUs, of 16 KiB at most each.
  std::map<std::string, std::string> annotations;
  std::vector<OwnerReference> owner_references;
  bool is_static = false;       // from a file or URL of the kubelet, not from the API server
  bool has_ended = false;       // succeeded or failed: holds nothing any more
  bool ready = false;           // its Ready condition; false before it has one
  bool is_terminating = false;  // deleted, but its containers may still run
  std::string address;          // empty: none yet
  bool is_in_node_network = false;
  // When the kubelet first received the pod, by the node's clock. Empty: not yet.
  std::optional<absl::Time> known_since;
};

// INTERNAL: a pod of the response cannot be parsed.
absl::StatusOr<std::vector<KubeletPod>> PodsIn(const ::v1alpha1::ListPodsResponse& response);

// Lists all pods of the node. Blocks for at most `timeout`. FAILED_PRECONDITION: a starting kubelet
// has not received its pods yet. All other errors are those of ListPodDevices(), except that the
// answer may have 64 MiB. Thread-safe.
absl::StatusOr<std::vector<KubeletPod>> ListKubeletPods(EventLoop& loop, const std::string& socket,
                                                        absl::Duration timeout);

}  // namespace gpuscaler
