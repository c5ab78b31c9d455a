#include "workload/owner_references.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

std::string Owners(const KubeletPod& pod) {
  return absl::StrJoin(OwnersByReference(pod), " ", [](std::string* text, const PodOwner& owner) {
    absl::StrAppend(text, owner.kind, "/", owner.name, owner.group.empty() ? "" : "@", owner.group);
  });
}

TEST(OwnersByReference, NearestFirstThenOwnersFromLabels) {
  struct Row {
    const char* name;
    std::map<std::string, std::string> labels;
    OwnerReference reference;
    const char* want;
  };
  const Row rows[] = {
      {"Deployment",
       {{"pod-template-hash", "6d4cf56db6"}},
       {"ReplicaSet", "web-6d4cf56db6", true},
       "ReplicaSet/web-6d4cf56db6 Deployment/web"},
      {"Rollout",
       {{"rollouts-pod-template-hash", "6d4cf56db6"}},
       {"ReplicaSet", "web-6d4cf56db6", true},
       "ReplicaSet/web-6d4cf56db6 Rollout/web"},
      {"ReplicaSet of its own",
       {},
       {"ReplicaSet", "web-6d4cf56db6", true},
       "ReplicaSet/web-6d4cf56db6"},
      {"hash of another",
       {{"pod-template-hash", "5d4cf56db6"}},
       {"ReplicaSet", "web-6d4cf56db6", true},
       "ReplicaSet/web-6d4cf56db6"},
      {"StatefulSet", {}, {"StatefulSet", "web", true}, "StatefulSet/web"},
      {"worker of a LeaderWorkerSet",
       {{"leaderworkerset.sigs.k8s.io/name", "train"},
        {"leaderworkerset.sigs.k8s.io/group-index", "2"}},
       {"StatefulSet", "train-2", true},
       "StatefulSet/train-2 LeaderWorkerSet/train@train-2"},
      {"JobSet",
       {{"jobset.sigs.k8s.io/jobset-name", "sets"}},
       {"Job", "sets-workers-0", true},
       "Job/sets-workers-0 JobSet/sets"},
      {"KServe",
       {{"pod-template-hash", "6d4cf56db6"}, {"serving.kserve.io/inferenceservice", "llama"}},
       {"ReplicaSet", "llama-predictor-6d4cf56db6", true},
       "ReplicaSet/llama-predictor-6d4cf56db6 Deployment/llama-predictor InferenceService/llama"},
      {"head of a KServe service of several nodes",
       {{"pod-template-hash", "6d4cf56db6"},
        {"serving.kserve.io/inferenceservice", "llama"},
        {"isvc.generation", "3"}},
       {"ReplicaSet", "llama-predictor-6d4cf56db6", true},
       "ReplicaSet/llama-predictor-6d4cf56db6 Deployment/llama-predictor "
       "InferenceService/llama@llama-3"},
      {"worker of a KServe service of several nodes",
       {{"pod-template-hash", "5f7d9c8b64"},
        {"serving.kserve.io/inferenceservice", "llama"},
        {"isvc.generation", "3"}},
       {"ReplicaSet", "llama-predictor-worker-5f7d9c8b64", true},
       "ReplicaSet/llama-predictor-worker-5f7d9c8b64 Deployment/llama-predictor-worker "
       "InferenceService/llama@llama-3"},
      {"Ray", {{"ray.io/cluster", "ray"}}, {"RayCluster", "ray", true}, "RayCluster/ray"},
      {"Ray replica of several hosts",
       {{"ray.io/cluster", "ray"}, {"ray.io/worker-group-replica-name", "gpus-af03d"}},
       {"RayCluster", "ray", true},
       "RayCluster/ray@gpus-af03d"},
      {"RayService",
       {{"ray.io/cluster", "llm-vmz9k"}},
       {"RayCluster", "llm-vmz9k", true},
       "RayCluster/llm-vmz9k RayService/llm"},
      {"static pod", {}, {"Node", "gpu-7", true}, ""},
  };
  for (const Row& row : rows) {
    const KubeletPod pod = {.labels = row.labels, .owner_references = {row.reference}};
    EXPECT_EQ(Owners(pod), row.want) << row.name;
  }
}

TEST(OwnersByReference, ControllerGoesBeforeOtherReferences) {
  const KubeletPod pod = {
      .owner_references = {{"Workload", "queue", false}, {"StatefulSet", "web", true}}};
  EXPECT_EQ(Owners(pod), "StatefulSet/web");
}

TEST(OwnersByReference, BarePodHasNone) {
  EXPECT_EQ(Owners({.labels = {{"pod-template-hash", "6d4cf56db6"}}}), "");
}

}  // namespace
}  // namespace gpuscaler
