// The pods of a workload that a trigger counts.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/pod.h"
#include "model/pod_interest.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Identifies a ScaledObject.
struct ScaledObjectRef {
  std::string namespace_name;
  std::string name;
  // Other namespaces in which it may read pods (model/allowed_namespaces.h).
  std::vector<std::string> allowed_namespaces;

  bool MaySee(absl::string_view namespace_of_pod) const;
};

// Why the pods that a trigger counts may not be the intended ones.
struct AmbiguityWarning {
  // The kind of ambiguity. A trigger logs each kind once, so it must not depend on which other pods
  // hold GPUs.
  enum class About {
    kNothing,
    kNoPods,    // no pod of the workload holds a GPU and others do: the name may be misspelt
    kSameKind,  // a pod's name fits another owner of the same kind as well
    kGuess,     // no key names the pods, and they have the only owner
  };
  About about = About::kNothing;
  std::string text;  // empty: nothing is ambiguous
};

// Separates the workload's pods from all others.
class PodSelection {
 public:
  // Selects pods by their full names.
  PodSelection(const ScaledObjectRef& scaled_object, std::shared_ptr<const re2::RE2> regex);
  // Selects pods by their owner; an empty kind: of any kind. Empty names select none.
  PodSelection(const ScaledObjectRef& scaled_object, std::string kind, std::string name,
               std::string description);

  bool Has(const Pod& pod) const;

  // Requires a selected pod. Pods of a group are one replica. Empty: the pod is a replica by
  // itself.
  std::string GroupOf(const Pod& pod) const;

  const std::string& description() const { return description_; }  // "pods of Deployment/llm"

  // kNothing: the pods are named, or named like the ScaledObject.
  const AmbiguityWarning& ambiguity() const { return ambiguity_; }
  void set_ambiguity(AmbiguityWarning ambiguity) { ambiguity_ = std::move(ambiguity); }

 private:
  const PodOwner* OwnerOf(const Pod& pod) const;

  ScaledObjectRef scaled_object_;
  std::shared_ptr<const re2::RE2> regex_;
  std::string kind_;
  std::string name_;
  std::string description_;
  AmbiguityWarning ambiguity_;
};

// Pods that hold or held GPUs, in all namespaces.
struct PodsWithGpus {
  std::vector<const Pod*> holding;  // hold GPUs now
  std::vector<const Pod*> past;     // held GPUs within the history
  // Those of both that the kubelet lists without a GPU: they may share a reserved one.
  std::set<const Pod*> without_gpu;
};

// Returns the pods that count, by the first rule that applies:
// 1. The pods that podRegex or workload names.
// 2. The pods of the workload named like the ScaledObject, if it ever had a GPU.
// 3. The pods of the only owner with GPUs now, or if there is none, of the only one that had GPUs.
//
// Several owners in rule 3: pods that only share a reserved GPU are ignored, then Jobs and
// DaemonSets, unless no others remain. If several owners still remain, the one listed first applies
// (Pod::owner_listed_since).
//
// Returns FAILED_PRECONDITION if the rules leave more than one workload, because a sum of two would
// scale each on the other's load.
absl::StatusOr<PodSelection> SelectPods(const Trigger& trigger,
                                        const ScaledObjectRef& scaled_object,
                                        const PodsWithGpus& seen);

// Returns UNAVAILABLE if none of `holding` is selected but some may belong to the workload, because
// their owners are not resolved (HasUnresolvedOwner). The text names these. podRegex needs no
// owners.
absl::Status CheckOwnersResolved(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                                 const PodSelection& selection,
                                 const std::vector<const Pod*>& holding);

// Returns whether SelectPods() needs PodsWithGpus::past while the pods in `holding` hold GPUs.
bool NeedsPastPods(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                   const std::vector<const Pod*>& holding);

// Returns the pods that a decision depends on. A decision on the nodes that have or had such pods
// equals one on all nodes of the namespaces, except for notes on disconnected nodes.
// - With podRegex: pods of any owner.
// - With gpuIndex: pods of any owner, because it is an error if no node of the namespace has a GPU
//   of that index.
// - Without keys: the pods named like the ScaledObject, if there are any and their names fit no
//   other owner; otherwise pods of any owner.
PodInterest PodsOfInterest(const Trigger& trigger, const ScaledObjectRef& scaled_object);

}  // namespace gpuscaler
