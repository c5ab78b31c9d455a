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
#include "scaling/ambiguity_warning.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Identifies a ScaledObject.
struct ScaledObjectRef {
  std::string namespace_name;
  std::string name;
  // Other namespaces in which it may see pods (model/allowed_namespaces.h).
  std::vector<std::string> opened;

  bool MaySee(absl::string_view namespace_of_pod) const;
};

// Separates the workload's pods from all others.
class PodSelection {
 public:
  // Selects pods by their full names.
  PodSelection(const ScaledObjectRef& scaled_object, std::shared_ptr<const re2::RE2> regex);
  // Selects pods by their owner; an empty kind: of any kind. Empty names select none.
  PodSelection(const ScaledObjectRef& scaled_object, std::string kind, std::string name,
               std::string what);

  bool Has(const Pod& pod) const;

  // Returns the group of a selected pod. Pods of a group are one replica. Empty: the pod is a
  // replica by itself.
  std::string GroupOf(const Pod& pod) const;

  const std::string& what() const { return what_; }  // "pods of Deployment/llm"

  // kNothing: the pods are named, or named like the ScaledObject.
  const AmbiguityWarning& ambiguity() const { return ambiguity_; }
  void set_ambiguity(AmbiguityWarning ambiguity) { ambiguity_ = std::move(ambiguity); }

 private:
  const PodOwner* OwnerOf(const Pod& pod) const;

  ScaledObjectRef scaled_object_;
  std::shared_ptr<const re2::RE2> regex_;
  std::string kind_;
  std::string name_;
  std::string what_;
  AmbiguityWarning ambiguity_;
};

// Pods of all namespaces.
struct SeenPods {
  std::vector<const Pod*> holding;  // GPUs now
  std::vector<const Pod*> past;     // held GPUs before, as far as is remembered
  // Pods of both that their kubelet lists without a GPU: they may share a reserved one.
  std::set<const Pod*> without_gpu;
};

// Returns the pods that podRegex or workload names. Without these keys, returns the pods of the
// workload that is named like the ScaledObject if it ever held a GPU. Otherwise returns the pods of
// the only owner with GPUs, or that had GPUs if none has any now. If there are several owners, Jobs
// and DaemonSets do not count beside others, and the owner that has had pods for longest is meant
// (Pod::owner_listed_since). Pods without a GPU of their own do not count beside others. Returns
// FAILED_PRECONDITION if more than one workload remains, because a sum of two would scale each on
// the other's load.
absl::StatusOr<PodSelection> SelectPods(const Trigger& trigger,
                                        const ScaledObjectRef& scaled_object, const SeenPods& seen);

// Returns UNAVAILABLE if none of `holding` is selected but some may belong to the workload, because
// their owners are not resolved (HasUnresolvedOwner). The text names these. podRegex needs no
// owners.
absl::Status CheckOwnersResolved(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                                 const PodSelection& selection,
                                 const std::vector<const Pod*>& holding);

// Returns whether SelectPods() needs SeenPods::past while the pods in `holding` hold GPUs.
bool NeedsPastPods(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                   const std::vector<const Pod*>& holding);

// Returns the pods that a decision on the trigger depends on. The nodes on which these are, or were
// within the horizon, give the same decision as all nodes of the namespaces. Only texts on
// disconnected nodes may differ. With podRegex these are pods of any owner; with gpuIndex too,
// because it is an error if no node of the namespace has that GPU. Without keys these are the pods
// named like the ScaledObject, if there are any and their names fit no other owner; otherwise pods
// of any owner.
PodInterest PodsOfInterest(const Trigger& trigger, const ScaledObjectRef& scaled_object);

}  // namespace gpuscaler
