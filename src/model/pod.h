// A pod that holds GPUs, as far as its node knows it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// Kubernetes' limits (apimachinery, util/validation): of an object's name, and of a namespace's, a
// container's, a kind's and a label's value.
inline constexpr size_t kLongestObjectName = 253;
inline constexpr size_t kLongestLabel = 63;

// What a pod may belong to.
struct PodOwner {
  std::string kind;  // "Deployment", "StatefulSet", "LeaderWorkerSet": Kubernetes' own word
  std::string name;
  // Pods that share it are one replica ("train-0", a group of a LeaderWorkerSet); empty: the pod is
  // a replica by itself.
  std::string group;

  friend bool operator==(const PodOwner&, const PodOwner&) = default;
};

struct Pod {
  enum class OwnersFrom {
    kReferences,  // of the pod itself: all of `owners` hold, the nearest first
    kName,        // read from the name's form: one of `owners` holds, which of them is not known
  };

  std::string namespace_name;
  std::string name;
  std::string uid;  // empty: not known
  std::vector<PodOwner> owners;
  OwnersFrom owners_from = OwnersFrom::kName;
  std::optional<bool> ready;  // empty: not known
  // It was Ready once, as far as its node knows: it never starts again.
  bool was_ready = false;
  std::optional<bool> is_ending;  // was deleted, and its containers may still run; empty: not known
  std::string address;            // empty: not known
  // hostNetwork: its address is its node's, and known for it. Not told to the fleet.
  bool is_in_node_network = false;
  // When its node's kubelet was first heard to list it, and never another time while it does;
  // empty: not known.
  std::optional<absl::Time> listed_since;
  // The first time that a pod of its owner was listed on its node. Short gaps between pods do not
  // count, so the time outlives a rollout. Empty: not known.
  std::optional<absl::Time> owner_listed_since;

  friend bool operator==(const Pod&, const Pod&) = default;
};

// Of all that it belongs to, or may belong to, each once; a pod of nobody's is a workload of its
// own.
std::vector<std::string> OwnerNames(const Pod& pod);

// Whether any workload may own it: its name has no controller's form, or its reference names a
// ReplicaSet and no label names the owner of that.
bool HasUnresolvedOwner(const Pod& pod);

// By its name alone it belongs to one of several workloads that are called differently.
bool IsAmbiguous(const Pod& pod);

// One container's part of a GPU.
struct GpuHolder {
  int pod = 0;  // its place in NodeSnapshot::pods
  // Empty also for a possible holder that the kubelet lists without a GPU.
  std::string container;
  // Of the GPU's load: the holders of one GPU add up to 1.
  double share = 1;
  // It holds this GPU or another one of which it is a possible holder too: no part of the
  // GPU's load counts for it. The others of one GPU come before these.
  bool is_possible = false;

  friend bool operator==(const GpuHolder&, const GpuHolder&) = default;
};

// Returns true if all but the shares, which change all the time, is the same.
bool HaveSameHolders(const std::vector<GpuHolder>& a, const std::vector<GpuHolder>& b);

// How the holders of a node's GPUs are known.
struct Attribution {
  enum class State {
    kNone,     // nobody asks the kubelet: a GPU in use is a replica
    kKnown,    // each GPU's holders are the pods that the kubelet names
    kUnknown,  // the kubelet has not answered for too long: nobody's GPU is known
  };
  State state = State::kNone;
  std::string why;  // it is unknown, or where it is known which GPU's are not

  friend bool operator==(const Attribution&, const Attribution&) = default;
};

}  // namespace gpuscaler
