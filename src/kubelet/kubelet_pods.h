// Client of the kubelet's Pods API (proto/podsapi.proto): owners, labels, readiness and addresses
// of the node's pods, without rights of any kind at the API server. On by default from
// Kubernetes 1.37.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "wire/event_loop.h"

namespace v1alpha1 {
class ListPodsResponse;
}

namespace gpuscaler {

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
  // Those that schedulers of shared GPUs write, if they have 16 KiB at most each.
  std::map<std::string, std::string> annotations;
  std::vector<OwnerReference> owner_references;
  bool is_static = false;  // from a file or URL of the kubelet's, not from the API server
  bool has_ended = false;  // succeeded or failed: holds nothing any more
  bool ready = false;      // its Ready condition: not before it has one
  bool is_ending = false;  // it was deleted, and its containers may still run
  std::string address;     // empty: none yet
  bool is_in_node_network = false;
  // When the kubelet first knew it, by the node's clock; empty: not yet.
  std::optional<absl::Time> known_since;
};

// Returns each pod of the answer. INTERNAL: one of them is no pod.
absl::StatusOr<std::vector<KubeletPod>> PodsIn(const ::v1alpha1::ListPodsResponse& response);

// Thread-safe: a connection for each call.
class KubeletPods {
 public:
  // Calls on `loop`, which outlives it.
  KubeletPods(EventLoop& loop, std::string socket) : loop_(loop), socket_(std::move(socket)) {}

  // FAILED_PRECONDITION until a starting kubelet has heard of its pods; else as PodResources::List.
  absl::StatusOr<std::vector<KubeletPod>> List(absl::Duration timeout) const;

  const std::string& socket() const { return socket_; }

 private:
  EventLoop& loop_;
  const std::string socket_;
};

}  // namespace gpuscaler
