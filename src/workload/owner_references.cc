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

// Returns the controller. A pod that has references but no controller belongs to its first owner.
const OwnerReference* Nearest(const KubeletPod& pod) {
  const auto controller =
      std::ranges::find_if(pod.owner_references, &OwnerReference::is_controller);
  if (controller != pod.owner_references.end()) return &*controller;
  return pod.owner_references.empty() ? nullptr : &pod.owner_references.front();
}

void Add(PodOwner owner, std::vector<PodOwner>& owners) {
  if (!owner.name.empty()) owners.push_back(std::move(owner));
}

// Adds the owner of a ReplicaSet. The name of a ReplicaSet ends in the hash of the template, which
// is a label as well.
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

// "isvc.generation" is only on pods of services on several nodes: the head's and the workers',
// which are two Deployments. Each generation has one head, and its workers connect to that one
// (KServe 0.15 to 0.20, predictor.go and service_reconciler.go).
void AddKserve(const KubeletPod& pod, std::vector<PodOwner>& owners) {
  const std::string name = Label(pod, "serving.kserve.io/inferenceservice");
  const std::string generation = Label(pod, "isvc.generation");
  Add({.kind = "InferenceService",
       .name = name,
       .group = generation.empty() ? "" : absl::StrCat(name, "-", generation)},
      owners);
}

// "ray.io/worker-group-replica-name" is only on the workers of a replica of several hosts (KubeRay
// 1.5).
void AddRay(const KubeletPod& pod, std::vector<PodOwner>& owners) {
  const std::string name = Label(pod, "ray.io/cluster");
  std::erase(owners, PodOwner{.kind = "RayCluster", .name = name});
  Add({.kind = "RayCluster", .name = name, .group = Label(pod, "ray.io/worker-group-replica-name")},
      owners);
  // A RayService names its clusters in the form that controllers give the names of pods.
  const std::vector<PodOwner> by_name = OwnersByName(absl::StrCat(name, "-head"));
  const auto service = std::ranges::find(by_name, "RayService", &PodOwner::kind);
  if (service != by_name.end()) owners.push_back(*service);
}

}  // namespace

std::vector<PodOwner> OwnersByReference(const KubeletPod& pod) {
  std::vector<PodOwner> owners;
  const OwnerReference* const nearest = Nearest(pod);
  // A static pod belongs to its node.
  if (nearest == nullptr || nearest->kind == "Node") return owners;
  Add({.kind = nearest->kind, .name = nearest->name}, owners);
  if (nearest->kind == "ReplicaSet") AddReplicaSetsOwner(pod, nearest->name, owners);
  AddGroup(pod, owners);
  Add({.kind = "JobSet", .name = Label(pod, "jobset.sigs.k8s.io/jobset-name")}, owners);
  AddKserve(pod, owners);
  AddRay(pod, owners);
  return owners;
}

}  // namespace gpuscaler
