// Which pods are a workload's (DESIGN 2, scope).
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

// Whose question it is.
struct ScaledObjectRef {
  std::string namespace_name;  // the ScaledObject's
  std::string name;            // the ScaledObject's
  // Other namespaces whose pods it may see (model/allowed_namespaces.h).
  std::vector<std::string> opened;

  bool MaySee(absl::string_view namespace_of_pod) const;
};

// Tells the workload's pods from all others.
class PodSelection {
 public:
  // Pods of `what` whose full names match.
  PodSelection(const ScaledObjectRef& scaled_object, std::shared_ptr<const re2::RE2> regex);
  // Those of an owner; an empty kind: of whatever kind. Empty names: nobody's.
  PodSelection(const ScaledObjectRef& scaled_object, std::string kind, std::string name,
               std::string what);

  bool Has(const Pod& pod) const;

  // Pods with the same one are one replica; empty: the pod is a replica by itself. Of a pod that it
  // has.
  std::string GroupOf(const Pod& pod) const;

  const std::string& what() const { return what_; }  // "pods of Deployment/llm"

  // Nothing: its name says whose they are.
  const AmbiguityWarning& ambiguity() const { return ambiguity_; }
  void Put(AmbiguityWarning ambiguity) { ambiguity_ = std::move(ambiguity); }

 private:
  const PodOwner* OwnerOf(const Pod& pod) const;

  ScaledObjectRef scaled_object_;
  std::shared_ptr<const re2::RE2> regex_;
  std::string kind_;
  std::string name_;
  std::string what_;
  AmbiguityWarning ambiguity_;
};

// Of all namespaces.
struct SeenPods {
  std::vector<const Pod*> holding;  // GPUs, now
  std::vector<const Pod*> past;     // that held some, as far as is remembered
  // Those of both that their kubelet lists without a GPU: they may share a reserved one.
  std::set<const Pod*> without_gpu;
};

// Returns the pods that podRegex or workload names; else those of the workload named like the
// ScaledObject if it ever held a GPU; else those of the only owner with GPUs, or that had some if
// none has any. If there are several owners, Jobs and DaemonSets do not count beside others, and
// the owner that has had pods for longest is meant (Pod::owner_listed_since). Pods without a GPU of
// their own do not count beside others. Returns
// FAILED_PRECONDITION if more than one workload remains, because a sum of two would scale each on
// the other's load.
absl::StatusOr<PodSelection> SelectPods(const Trigger& trigger,
                                        const ScaledObjectRef& scaled_object, const SeenPods& seen);

// UNAVAILABLE if none of `holding` is of the selection and some may be, because their owners are
// not resolved (HasUnresolvedOwner): the text names these. Pods of podRegex are known by their
// names.
absl::Status CheckOwnersResolved(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                                 const PodSelection& selection,
                                 const std::vector<const Pod*>& holding);

// Whether it looks at SeenPods::past, where these pods hold GPUs now.
bool AsksForThePast(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                    const std::vector<const Pod*>& holding);

// The pods that a decision on the trigger depends on, whoever else holds GPUs: it is the same made
// on the nodes that these are on, or were within the horizon, as on all of their namespaces' (but
// for what it says of nodes that are silent). Of podRegex these are whoever's, and of gpuIndex too,
// which is an error where no node of the namespace has it. The rule of the only owner needs but
// those named like the ScaledObject where there are any, and no name that may tell another's owner.
PodInterest PodsOfInterest(const Trigger& trigger, const ScaledObjectRef& scaled_object);

}  // namespace gpuscaler
