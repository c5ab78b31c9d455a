#include "workload/owner_references.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "workload/owner_names.h"

namespace gpuscaler {
namespace {

std::string Label(const KubeletPod& pod, const char* key) {
  const auto found = pod.labels.find(key);
  return found == pod.labels.end() ? "" : found->second;
}

// The controller; a pod that has references and no controller is its first owner's.
const OwnerReference* Nearest(const KubeletPod& pod) {
  const auto controller =
      std::ranges::find_if(pod.owner_references, &OwnerReference::is_controller);
  if (controller != pod.owner_references.end()) return &*controller;
  return pod.owner_references.empty() ? nullptr : &pod.owner_references.front();
}

void Add(PodOwner owner, std::vector<PodOwner>& owners) {
  if (!owner.name.empty()) owners.push_back(std::move(owner));
}

// A ReplicaSet is named after its owner and the hash of the template, which is a label as well.
void AddReplicaSetsOwner(const KubeletPod& pod, const std::string& name,
                         std::vector<PodOwner>& owners) {
  constexpr std::pair<const char*, const char*> kHashLabels[] = {
      {"rollouts-pod-template-hash", "Rollout"}, {"pod-template-hash", "Deployment"}};
  for (const auto& [label, kind] : kHashLabels) {
    const std::string hash = Label(pod, label);
    absl::string_view owner = name;
    if (!hash.empty() && absl::ConsumeSuffix(&owner, absl::StrCat("-", hash))) {
      return Add({.kind = kind, .name = std::string(owner)}, owners);
    }
  }
}

void AddGroup(const KubeletPod& pod, std::vector<PodOwner>& owners) {
  const std::string name = Label(pod, "leaderworkerset.sigs.k8s.io/name");
  const std::string index = Label(pod, "leaderworkerset.sigs.k8s.io/group-index");
  if (index.empty()) return;
  Add({.kind = "LeaderWorkerSet", .name = name, .group = absl::StrCat(name, "-", index)}, owners);
}

// "isvc.generation" is on the pods of several nodes only, the head's and the workers', which are
// two Deployments: each generation has one head, and its workers ask for that one (KServe 0.15 to
// 0.20, predictor.go and service_reconciler.go).
void AddKserve(const KubeletPod& pod, std::vector<PodOwner>& owners) {
  const std::string name = Label(pod, "serving.kserve.io/inferenceservice");
  const std::string generation = Label(pod, "isvc.generation");
  Add({.kind = "InferenceService",
       .name = name,
       .group = generation.empty() ? "" : absl::StrCat(name, "-", generation)},
      owners);
}

// "ray.io/worker-group-replica-name" is on the workers of a replica of several hosts only (KubeRay
// 1.5).
void AddRay(const KubeletPod& pod, std::vector<PodOwner>& owners) {
  const std::string name = Label(pod, "ray.io/cluster");
  std::erase(owners, PodOwner{.kind = "RayCluster", .name = name});
  Add({.kind = "RayCluster", .name = name, .group = Label(pod, "ray.io/worker-group-replica-name")},
      owners);
  // A RayService gives its clusters names of the same form as a controller its pods.
  const std::vector<PodOwner> by_name = OwnersByName(absl::StrCat(name, "-head"));
  const auto service = std::ranges::find(by_name, "RayService", &PodOwner::kind);
  if (service != by_name.end()) owners.push_back(*service);
}

}  // namespace

std::vector<PodOwner> OwnersByReference(const KubeletPod& pod) {
  std::vector<PodOwner> owners;
  const OwnerReference* const nearest = Nearest(pod);
  if (nearest == nullptr || nearest->kind == "Node") return owners;  // a static pod is its node's
  Add({.kind = nearest->kind, .name = nearest->name}, owners);
  if (nearest->kind == "ReplicaSet") AddReplicaSetsOwner(pod, nearest->name, owners);
  AddGroup(pod, owners);
  Add({.kind = "JobSet", .name = Label(pod, "jobset.sigs.k8s.io/jobset-name")}, owners);
  AddKserve(pod, owners);
  AddRay(pod, owners);
  return owners;
}

}  // namespace gpuscaler
