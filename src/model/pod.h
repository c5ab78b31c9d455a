// A pod that holds GPUs, as its node reports it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// Kubernetes' limits (apimachinery, util/validation). Labels are namespaces, containers, kinds and
// label values.
inline constexpr size_t kLongestObjectName = 253;
inline constexpr size_t kLongestLabel = 63;

// An owner, or a possible owner, of a pod.
struct PodOwner {
  std::string kind;  // as Kubernetes spells it: "Deployment", "StatefulSet", "LeaderWorkerSet"
  std::string name;
  // Pods with equal groups are one replica ("train-0", a group of a LeaderWorkerSet). Empty: the
  // pod is a replica by itself.
  std::string group;

  friend bool operator==(const PodOwner&, const PodOwner&) = default;
};

struct Pod {
  enum class OwnersFrom {
    kReferences,  // owner references: all of `owners` apply, the nearest first
    kName,        // the form of the name: one of `owners` applies, unknown which
  };

  std::string namespace_name;
  std::string name;
  std::string uid;  // empty: unknown
  std::vector<PodOwner> owners;
  OwnersFrom owners_from = OwnersFrom::kName;
  std::optional<bool> ready;  // empty: unknown
  // The pod was Ready before, as far as its node observed, so it is not starting.
  bool was_ready = false;
  std::optional<bool> is_terminating;  // deleted, but its containers may still run; empty: unknown
  std::string address;                 // empty: unknown
  // The pod uses the address of its node (hostNetwork), which is then `address`. Not sent to the
  // fleet.
  bool is_in_node_network = false;
  // When the node's kubelet first listed the pod. Constant while the pod is listed. Empty: unknown.
  std::optional<absl::Time> listed_since;
  // When a pod of the same owner was first listed on the node. Short gaps between pods do not
  // count, so the time outlives a rollout. Empty: unknown.
  std::optional<absl::Time> owner_listed_since;

  friend bool operator==(const Pod&, const Pod&) = default;
};

// Includes possible owners, each once. A pod without any is a workload of its own, and its own name
// is returned.
std::vector<std::string> OwnerNames(const Pod& pod);

// Returns true if any workload may own the pod. Its name has no controller's form, or its reference
// names a ReplicaSet and no label names the owner of that.
bool HasUnresolvedOwner(const Pod& pod);

// Returns true if the pod's name alone fits several workloads with different names.
bool IsAmbiguous(const Pod& pod);

// One container's part of a GPU.
struct GpuHolder {
  int pod = 0;  // index in NodeSnapshot::pods
  // Empty also for a possible holder that the kubelet lists without a GPU.
  std::string container;
  // Part of the GPU's load. The holders of one GPU add up to 1.
  double share = 1;
  // The pod holds one of several GPUs, and which one is unknown: it is a possible holder of each.
  // None of their load counts for it. Certain holders of a GPU come before possible ones.
  bool is_possible = false;

  friend bool operator==(const GpuHolder&, const GpuHolder&) = default;
};

// Compares pods and containers, not shares, which change with nearly every reading.
bool HaveSameHolders(const std::vector<GpuHolder>& a, const std::vector<GpuHolder>& b);

// How the holders of a node's GPUs are determined.
struct Attribution {
  enum class State {
    kNone,     // no kubelet is queried: each GPU in use is a replica
    kKnown,    // the kubelet reports the pods that hold each GPU
    kUnknown,  // no answer from the kubelet for too long: no holder is known
  };
  State state = State::kNone;
  std::string why;  // why the holders of all GPUs, or of some, are unknown; empty: none is

  friend bool operator==(const Attribution&, const Attribution&) = default;
};

}  // namespace gpuscaler
