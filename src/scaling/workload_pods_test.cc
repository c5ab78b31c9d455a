#include "scaling/workload_pods.h"

#include <re2/re2.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ScaledObjectRef kScaledObject{.namespace_name = "team-a", .name = "scaler"};

Pod Owned(const char* name, std::vector<PodOwner> owners, const char* in = "team-a") {
  return {.namespace_name = in,
          .name = name,
          .owners = std::move(owners),
          .owners_from = Pod::OwnersFrom::kReferences};
}

Pod ByName(const char* name, std::vector<PodOwner> owners) {
  return {.namespace_name = "team-a", .name = name, .owners = std::move(owners)};
}

const PodOwner kLlm{"Deployment", "llm"};
const PodOwner kEmbed{"Deployment", "embed"};

Trigger Workload(const char* kind, const char* name) {
  Trigger trigger;
  trigger.workload_kind = kind;
  trigger.workload = name;
  return trigger;
}

Trigger Matching(const char* regex) {
  Trigger trigger;
  trigger.pod_regex = std::make_shared<const re2::RE2>(regex);
  return trigger;
}

struct Selected {
  std::vector<std::string> names;
  std::string what;  // or the error
  std::string ambiguity;
};

std::vector<const Pod*> Pointers(const std::vector<Pod>& pods) {
  std::vector<const Pod*> pointers;
  for (const Pod& pod : pods) pointers.push_back(&pod);
  return pointers;
}

Selected Select(const Trigger& trigger, const std::vector<Pod>& pods,
                const ScaledObjectRef& scaled_object = kScaledObject,
                const std::vector<Pod>& past = {}) {
  const auto selection =
      SelectPods(trigger, scaled_object,
                 {.holding = Pointers(pods), .past = Pointers(past), .without_gpu = {}});
  if (!selection.ok()) return {.what = selection.status().ToString()};
  Selected selected{.what = selection->description(), .ambiguity = selection->ambiguity().text};
  for (const Pod& pod : pods) {
    if (selection->Has(pod)) selected.names.push_back(pod.name);
  }
  return selected;
}

TEST(SelectPods, WorkloadNamesItsOwner) {
  const std::vector<Pod> pods = {Owned("llm-1", {kLlm}), Owned("embed-1", {kEmbed}),
                                 Owned("llm-2", {kLlm}, "team-b")};
  for (const Trigger& trigger :
       {Workload("", "llm"), Workload("Deployment", "llm"), Workload("deployment", "llm")}) {
    const Selected selected = Select(trigger, pods);
    EXPECT_THAT(selected.names, ElementsAre("llm-1"));
    EXPECT_EQ(selected.what, "pods of Deployment/llm");
  }
  EXPECT_THAT(Select(Workload("StatefulSet", "llm"), pods).names, IsEmpty());
  EXPECT_EQ(Select(Workload("", "none"), pods).what, "pods of none");
}

TEST(SelectPods, PodThatFitsALongerNameOfTheSameKindIsAmbiguous) {
  const Pod own = ByName("ray-gpus-worker-x7k2p", {{"RayCluster", "ray"}});
  const Pod either =
      ByName("ray-dev-gpus-worker-x7k2p", {{"RayCluster", "ray-dev"}, {"RayCluster", "ray"}});
  const Selected both = Select(Workload("RayCluster", "ray"), {own, either});
  EXPECT_THAT(both.names, ElementsAre(own.name, either.name));
  EXPECT_EQ(both.ambiguity,
            "counts pod ray-dev-gpus-worker-x7k2p, which may as well be of RayCluster/ray-dev by "
            "its name: add podRegex to be sure");
  EXPECT_EQ(Select(Workload("RayCluster", "ray-dev"), {own, either}).ambiguity, "");
  EXPECT_EQ(Select(Workload("RayCluster", "ray"), {either}).ambiguity, "") << "all may be one's";
  EXPECT_EQ(
      Select(Workload("RayCluster", "ray"), {own, Owned("ray-dev-1", {{"RayCluster", "ray"}})})
          .ambiguity,
      "")
      << "its references decide";
}

TEST(SelectPods, GroupsOfALeaderWorkerSetAreNotAmbiguous) {
  const Pod leader = ByName("llm-0", {{"StatefulSet", "llm"}, {"LeaderWorkerSet", "llm", "llm-0"}});
  const Pod worker = ByName("llm-0-1", {{"StatefulSet", "llm-0"},
                                        {"LeaderWorkerSet", "llm-0", "llm-0-1"},
                                        {"LeaderWorkerSet", "llm", "llm-0"}});
  const Selected selected = Select(Workload("LeaderWorkerSet", "llm"), {leader, worker});
  EXPECT_THAT(selected.names, ElementsAre("llm-0", "llm-0-1"));
  EXPECT_EQ(selected.ambiguity, "");
}

TEST(SelectPods, AnyOwnerOfAPodNamesIt) {
  const std::vector<Pod> pods = {
      Owned("chat-predictor-1", {{"Deployment", "chat-predictor"}, {"InferenceService", "chat"}})};
  EXPECT_THAT(Select(Workload("", "chat"), pods).names, ElementsAre("chat-predictor-1"));
  EXPECT_THAT(Select(Workload("", "chat-predictor"), pods).names, ElementsAre("chat-predictor-1"));
}

TEST(SelectPods, RegexMatchesFullNamesOfItsOwnNamespace) {
  const std::vector<Pod> pods = {Owned("llm-1", {kLlm}), Owned("my-llm-1", {kLlm}),
                                 Owned("llm-2", {kLlm}, "team-b")};
  const Selected selected = Select(Matching("llm-.*"), pods);
  EXPECT_THAT(selected.names, ElementsAre("llm-1"));
  EXPECT_EQ(selected.what, "pods matching \"llm-.*\"");
}

TEST(SelectPods, WithoutAKeyTheOnlyOwnerIsMeant) {
  const Selected selected = Select(
      {}, {Owned("llm-1", {kLlm}), Owned("llm-2", {kLlm}), Owned("x-1", {kEmbed}, "team-b")});
  EXPECT_THAT(selected.names, ElementsAre("llm-1", "llm-2"));
  EXPECT_EQ(selected.what, "pods of Deployment/llm");
}

TEST(SelectPods, GroupsOfOneOwnerAreOneOwner) {
  const Selected selected = Select(
      {}, {Owned("llm-0", {{"StatefulSet", "llm"}, {"LeaderWorkerSet", "llm", "llm-0"}}),
           Owned("llm-0-1", {{"StatefulSet", "llm-0"}, {"LeaderWorkerSet", "llm", "llm-0"}})});
  EXPECT_THAT(selected.names, ElementsAre("llm-0", "llm-0-1"));
  EXPECT_EQ(selected.what, "pods of LeaderWorkerSet/llm");
}

TEST(SelectPods, OwnerNamedLikeTheScaledObjectIsSelectedAmongSeveral) {
  const std::vector<Pod> pods = {Owned("llm-1", {kLlm}), Owned("embed-1", {kEmbed})};
  EXPECT_THAT(Select({}, pods, {.namespace_name = "team-a", .name = "embed"}).names,
              ElementsAre("embed-1"));
}

TEST(SelectPods, WorkloadNamedLikeTheScaledObjectIsMeantEvenAtZeroReplicas) {
  const ScaledObjectRef embed{.namespace_name = "team-a", .name = "embed"};
  const std::vector<Pod> stranger = {Owned("llm-1", {kLlm})};
  const Selected asleep = Select({}, stranger, embed, {Owned("embed-1", {kEmbed}), stranger[0]});
  EXPECT_THAT(asleep.names, IsEmpty());
  EXPECT_EQ(asleep.what, "pods of Deployment/embed");
  EXPECT_EQ(asleep.ambiguity, "");
  EXPECT_THAT(Select({}, stranger, kScaledObject, {Owned("embed-1", {kEmbed})}).names,
              ElementsAre("llm-1"))
      << "an owner of another name is not remembered";
}

TEST(SelectPods, OnlyOwnerOfAnotherNameIsAmbiguous) {
  const std::vector<Pod> pods = {Owned("llm-1", {kLlm})};
  EXPECT_EQ(Select({}, pods).ambiguity,
            "counts pods of Deployment/llm, the only owner of GPU pods in namespace team-a, which "
            "is not named like the ScaledObject \"scaler\": add workload to be sure");
  EXPECT_EQ(Select({}, pods, {.namespace_name = "team-a", .name = "llm"}).ambiguity, "");
  EXPECT_EQ(Select(Workload("", "llm"), pods).ambiguity, "");
  EXPECT_EQ(Select(Matching("llm-.*"), pods).ambiguity, "");
}

TEST(SelectPods, PodsWithoutAGpuOfTheirOwnCountIfThereAreNoOthers) {
  const std::vector<Pod> pods = {Owned("cache-0", {{"StatefulSet", "cache"}}),
                                 Owned("llm-1", {kLlm})};
  const auto selected = [&](const std::vector<const Pod*>& holding,
                            const std::vector<const Pod*>& past) {
    const auto selection = SelectPods(
        {}, kScaledObject, {.holding = holding, .past = past, .without_gpu = {&pods[0]}});
    return selection.ok() ? selection->description() : selection.status().ToString();
  };
  EXPECT_EQ(selected({&pods[0], &pods[1]}, {}), "pods of Deployment/llm");
  EXPECT_EQ(selected({&pods[0]}, {&pods[1]}), "pods of Deployment/llm");
  EXPECT_EQ(selected({&pods[0]}, {}), "pods of StatefulSet/cache");
}

TEST(SelectPods, SeveralOwnersAreAnErrorThatNamesThem) {
  const Selected selected = Select({}, {Owned("llm-1", {kLlm}), Owned("embed-1", {kEmbed}),
                                        Owned("note", {}), Owned("x", {{"Job", "x"}}, "team-b")});
  EXPECT_THAT(selected.what, HasSubstr("FAILED_PRECONDITION"));
  EXPECT_THAT(selected.what, HasSubstr("Deployment/embed, Deployment/llm, Pod/note; none is named "
                                       "like the ScaledObject \"scaler\": add workload"));
}

absl::Time Second(int second) { return absl::FromUnixSeconds(1'767'225'600 + second); }

// Sets when the pod was first listed, and its owner if `owner_second` is set.
Pod Listed(Pod pod, int second, std::optional<int> owner_second = std::nullopt) {
  pod.listed_since = Second(second);
  if (owner_second) pod.owner_listed_since = Second(*owner_second);
  return pod;
}

TEST(SelectPods, OwnerWithPodsForLongestIsSelectedAmongSeveral) {
  const std::vector<Pod> pods = {Listed(Owned("embed-1", {kEmbed}), 100),
                                 Listed(Owned("llm-1", {kLlm}), 0),
                                 Listed(Owned("llm-2", {kLlm}), 500)};
  EXPECT_THAT(Select({}, pods).names, ElementsAre("llm-1", "llm-2"));
  EXPECT_NE(Select({}, pods).ambiguity, "");
  const std::vector<Pod> rolled = {pods[0], pods[2]};
  EXPECT_THAT(Select({}, rolled, kScaledObject, {pods[1]}).names, ElementsAre("llm-2"))
      << "its earlier pods are remembered";
  EXPECT_THAT(Select({}, {pods[0], Listed(Owned("llm-3", {kLlm}), 103)}).what,
              HasSubstr("FAILED_PRECONDITION"))
      << "both came at the same time";
}

// The owner's time outlives its pods, of which none is in the history 16 minutes after a rollout.
TEST(SelectPods, OlderOwnerStaysWhenAllOfItsPodsAreNew) {
  constexpr int kDay = 86'400;
  const Pod embed = Listed(Owned("embed-1", {kEmbed}), kDay, kDay);
  const Pod rolled = Listed(Owned("llm-2", {kLlm}), 2 * kDay, 0);
  EXPECT_THAT(Select({}, {embed, rolled}).names, ElementsAre("llm-2"));
  EXPECT_THAT(Select({}, {rolled, embed}).names, ElementsAre("llm-2"));
}

TEST(SelectPods, OlderOwnerStaysWhenPodsOfBothRestartTogether) {
  constexpr int kDay = 86'400;
  EXPECT_THAT(Select({}, {Listed(Owned("embed-2", {kEmbed}), 2 * kDay, kDay),
                          Listed(Owned("llm-2", {kLlm}), 2 * kDay + 5, 0)})
                  .names,
              ElementsAre("llm-2"));
}

// The node of llm-2 has just had its first pod of that owner.
TEST(SelectPods, OwnersTimeIsTheEarliestOfAllNodesAndOfPodsThatAreGone) {
  const Pod embed = Listed(Owned("embed-1", {kEmbed}), 500, 100);
  const Pod moved = Listed(Owned("llm-2", {kLlm}), 1000, 1000);
  EXPECT_THAT(Select({}, {embed, moved}).names, ElementsAre("embed-1"));
  EXPECT_THAT(Select({}, {embed, moved, Listed(Owned("llm-1", {kLlm}), 1000, 0)}).names,
              ElementsAre("llm-2", "llm-1"));
  EXPECT_THAT(
      Select({}, {embed, moved}, kScaledObject, {Listed(Owned("llm-1", {kLlm}), 900, 0)}).names,
      ElementsAre("llm-2"));
}

TEST(SelectPods, PodsFromAgentsOfEarlierVersionsCountSinceTheyAreListed) {
  const Pod embed = Listed(Owned("embed-1", {kEmbed}), 500, 100);
  EXPECT_THAT(Select({}, {embed, Listed(Owned("llm-1", {kLlm}), 50)}).names, ElementsAre("llm-1"));
  EXPECT_THAT(Select({}, {embed, Listed(Owned("llm-1", {kLlm}), 200)}).names,
              ElementsAre("embed-1"));
}

TEST(SelectPods, ReplicaSetsOfADeploymentShareItsTime) {
  const auto of_replica_set = [](const char* name, const char* replica_set) {
    return Owned(name, {{"ReplicaSet", replica_set}, kLlm});
  };
  const Pod embed = Listed(Owned("embed-1", {kEmbed}), 100);
  const Pod old = Listed(of_replica_set("llm-6d4c-1", "llm-6d4c"), 0);
  const Pod rolled = Listed(of_replica_set("llm-7f9c-1", "llm-7f9c"), 500);
  const Selected selected = Select({}, {embed, rolled}, kScaledObject, {old});
  EXPECT_THAT(selected.names, ElementsAre(rolled.name));
  EXPECT_EQ(selected.what, "pods of Deployment/llm");
  EXPECT_EQ(Select({}, {rolled}).what, "pods of Deployment/llm");
}

TEST(SelectPods, AJobOrDaemonSetThatStartsInTheNamespaceIsIgnored) {
  const std::vector<Pod> pods = {Owned("llm-1", {kLlm}), Owned("batch-1", {{"Job", "batch"}}),
                                 Owned("probe-1", {{"DaemonSet", "probe"}})};
  EXPECT_THAT(Select({}, pods).names, ElementsAre("llm-1"));
  EXPECT_THAT(Select({}, {pods[1]}).names, ElementsAre("batch-1")) << "it is the only one";
  const std::vector<PodOwner> first = {{"Job", "set-a"}, {"JobSet", "set"}};
  const std::vector<PodOwner> second = {{"Job", "set-b"}, {"JobSet", "set"}};
  EXPECT_THAT(Select({}, {pods[0], Owned("set-a-0", first), Owned("set-b-0", second)}).names,
              ElementsAre("llm-1"))
      << "two Jobs of one JobSet";
}

// Before Kubernetes 1.37 owners are read from the pods' names.
TEST(SelectPods, AJobThatStartsInTheNamespaceIsIgnoredWithoutThePodsApi) {
  const Pod llm = ByName("llm-6d4cf56db6-x7k2p", {kLlm, {"Rollout", "llm"}});
  const Pod set = ByName("llm-0", {{"StatefulSet", "llm"}, {"LeaderWorkerSet", "llm", "llm-0"}});
  const Pod job =
      ByName("batch-x7k2p", {{"ReplicaSet", "batch"}, {"DaemonSet", "batch"}, {"Job", "batch"}});
  const Pod indexed = ByName(
      "train-3-x7k2p",
      {{"Job", "train"}, {"ReplicaSet", "train-3"}, {"DaemonSet", "train-3"}, {"Job", "train-3"}});
  for (const Pod& scaled : {llm, set}) {
    for (const Pod& other : {job, indexed}) {
      EXPECT_THAT(Select({}, {other, scaled}).names, ElementsAre(scaled.name)) << other.name;
      EXPECT_THAT(Select({}, {Listed(other, 0), Listed(scaled, 900)}).names,
                  ElementsAre(scaled.name))
          << "a Job that was there before";
    }
  }
  EXPECT_THAT(Select({}, {job}).names, ElementsAre(job.name)) << "it is the only one";
  EXPECT_THAT(Select({}, {Listed(job, 0), Listed(indexed, 900)}).names, ElementsAre(job.name))
      << "only such owners";
}

TEST(SelectPods, AJobThatEndedIsIgnoredAtZeroReplicas) {
  const Pod llm = Owned("llm-1", {kLlm});
  const Pod job = Owned("batch-1", {{"Job", "batch"}});
  EXPECT_EQ(Select({}, {}, kScaledObject, {job, llm}).what, "pods of Deployment/llm");
  EXPECT_EQ(
      Select({}, {}, kScaledObject, {Listed(Owned("embed-1", {kEmbed}), 100), Listed(llm, 0)}).what,
      "pods of Deployment/llm")
      << "the first of two";
}

// A ReplicaSet is known by its references alone, and can be scaled.
TEST(SelectPods, ReplicaSetThatOwnsItsPodsIsAnOwnerAsAnyOther) {
  EXPECT_THAT(Select({}, {Owned("llm-1", {kLlm}), Owned("web-1", {{"ReplicaSet", "web"}})}).what,
              HasSubstr("FAILED_PRECONDITION"));
}

TEST(SelectPods, SameNameOfTwoKindsIsAnError) {
  const std::vector<Pod> pods = {Owned("llm-1", {kLlm}), Owned("llm-0", {{"StatefulSet", "llm"}})};
  EXPECT_THAT(Select(Workload("", "llm"), pods).what,
              HasSubstr("several workloads are called \"llm\": Deployment/llm, StatefulSet/llm"));
  EXPECT_THAT(Select(Workload("StatefulSet", "llm"), pods).names, ElementsAre("llm-0"));
}

TEST(SelectPods, NameThatFitsTwoOwnersIsAnError) {
  const std::vector<Pod> pods = {
      ByName("llm-0-1", {{"StatefulSet", "llm-0"}, {"LeaderWorkerSet", "llm", "llm-0"}}),
      ByName("web-7f9c-x", {{"Deployment", "web"}, {"Rollout", "web"}})};
  const Selected selected = Select(Workload("", "llm"), pods);
  EXPECT_THAT(selected.what, HasSubstr("FAILED_PRECONDITION"));
  EXPECT_THAT(selected.what, HasSubstr("pod llm-0-1 may be of StatefulSet/llm-0 or "
                                       "LeaderWorkerSet/llm by its name: add workload: Kind/NAME"));
  EXPECT_THAT(Select(Workload("LeaderWorkerSet", "llm"), pods).names, ElementsAre("llm-0-1"));
  EXPECT_THAT(Select(Workload("", "web"), pods).names, ElementsAre("web-7f9c-x"))
      << "whatever its kind, it is called web";
}

TEST(SelectPods, PodsOfAnotherNamespaceCountOnlyWhereItIsOpened) {
  const std::vector<Pod> pods = {Owned("llm-1", {kLlm}, "team-b")};
  EXPECT_THAT(Select({}, pods).names, IsEmpty());
  EXPECT_EQ(Select({}, pods).what, "pods of namespace team-a");
  const ScaledObjectRef opened{
      .namespace_name = "team-a", .name = "scaler", .allowed_namespaces = {"team-b"}};
  EXPECT_THAT(Select({}, pods, opened).names, ElementsAre("llm-1"));
  const std::vector<Pod> both = {Owned("llm-1", {kLlm}, "team-b"), Owned("llm-2", {kLlm})};
  EXPECT_THAT(Select(Workload("", "llm"), both, opened).what,
              HasSubstr("Deployment/llm, team-b/Deployment/llm"));
}

TEST(SelectPods, WorkloadAtZeroReplicasKeepsItsOwner) {
  const std::vector<Pod> past = {Owned("llm-1", {kLlm})};
  EXPECT_EQ(Select(Workload("", "llm"), {}, kScaledObject, past).what, "pods of Deployment/llm");
  EXPECT_EQ(Select(Workload("", "llm"), {Owned("embed-1", {kEmbed})}, kScaledObject, past).what,
            "pods of Deployment/llm");
}

// Pods that fit the workload count as its own, unless another pod cannot be its own.
TEST(SelectPods, OtherPodsDecideWhetherAmbiguousPodsCount) {
  const ScaledObjectRef llm{.namespace_name = "team-a", .name = "llm"};
  const Pod worker =
      ByName("llm-0-1", {{"StatefulSet", "llm-0"}, {"LeaderWorkerSet", "llm", "llm-0"}});
  const Pod first =
      ByName("llm-0-0", {{"StatefulSet", "llm-0"}, {"LeaderWorkerSet", "llm-0", "llm-0-0"}});
  EXPECT_THAT(Select({}, {worker}, llm).names, ElementsAre("llm-0-1"));
  EXPECT_THAT(Select({}, {worker, first}, llm).what, HasSubstr("pod llm-0-1 may be of"));
}

std::string Unresolved(const Trigger& trigger, const std::vector<Pod>& pods,
                       const ScaledObjectRef& scaled_object = kScaledObject) {
  const auto selection =
      SelectPods(trigger, scaled_object, {.holding = Pointers(pods), .past = {}});
  if (!selection.ok()) return selection.status().ToString();
  return CheckOwnersResolved(trigger, scaled_object, *selection, Pointers(pods)).ToString();
}

TEST(CheckOwnersResolved, PodsWithAnUnknownOwnerMayBeTheNamedWorkloads) {
  const Pod of_replica_set = Owned("llm-6d4cf56db6-x7k2p", {{"ReplicaSet", "llm-6d4cf56db6"}});
  const Pod of_no_form = ByName("llm", {});
  const char unknown[] =
      "UNAVAILABLE: no pods of Deployment/web are known, and pods with an unknown owner hold "
      "GPUs: llm, llm-6d4cf56db6-x7k2p of ReplicaSet/llm-6d4cf56db6: add workload: Kind/NAME, or "
      "podRegex";
  EXPECT_EQ(Unresolved(Workload("Deployment", "web"), {of_replica_set, of_no_form}), unknown);
  EXPECT_THAT(Unresolved(Workload("", "web"), {of_replica_set}), HasSubstr("UNAVAILABLE"));
  EXPECT_EQ(Unresolved(Workload("StatefulSet", "web"), {of_replica_set}), "OK")
      << "none owns a ReplicaSet";
  EXPECT_THAT(Unresolved(Workload("StatefulSet", "web"), {of_no_form}), HasSubstr("UNAVAILABLE"));
  EXPECT_EQ(Unresolved(Matching("web-.*"), {of_replica_set}), "OK");
}

TEST(CheckOwnersResolved, PodsOfKnownOwnersAreNotTheNamedWorkloads) {
  const Pod deployments =
      Owned("llm-6d4cf56db6-x7k2p", {{"ReplicaSet", "llm-6d4cf56db6"}, {"Deployment", "llm"}});
  const Pod of_replica_set = Owned("web-6d4cf56db6-x7k2p", {{"ReplicaSet", "web-6d4cf56db6"}});
  EXPECT_EQ(Unresolved(Workload("", "web"), {deployments, Owned("alone", {}),
                                             ByName("embed-0", {{"StatefulSet", "embed"}})}),
            "OK");
  EXPECT_EQ(Unresolved(Workload("Deployment", "llm"), {deployments, of_replica_set}), "OK")
      << "it has pods";
  EXPECT_EQ(Unresolved(Workload("", "web-6d4cf56db6"), {of_replica_set}), "OK") << "its own";
  EXPECT_EQ(Unresolved({}, {of_replica_set}), "OK") << "the only owner";
}

TEST(PodsOfInterest, AreThoseThatTheDecisionDependsOn) {
  const ScaledObjectRef opened{
      .namespace_name = "team-a", .name = "scaler", .allowed_namespaces = {"team-b"}};
  const PodInterest named = PodsOfInterest(Workload("Deployment", "llm"), opened);
  EXPECT_THAT(named.namespaces, ElementsAre("team-b", "team-a"));
  EXPECT_EQ(named.owner, "llm");
  EXPECT_FALSE(named.or_any_owner);
  const PodInterest unnamed = PodsOfInterest({}, kScaledObject);
  EXPECT_EQ(unnamed.owner, "scaler");
  EXPECT_TRUE(unnamed.or_any_owner) << "the rule of the only owner";
  EXPECT_EQ(PodsOfInterest(Matching("llm-.*"), kScaledObject).owner, "");
  Trigger one_gpu = Workload("", "llm");
  one_gpu.gpu_index = 0;
  EXPECT_EQ(PodsOfInterest(one_gpu, kScaledObject).owner, "") << "another's node may have that GPU";
}

TEST(PodSelection, GroupIsThatOfTheOwner) {
  const auto lws = SelectPods(Workload("LeaderWorkerSet", "llm"), kScaledObject, PodsWithGpus());
  ASSERT_TRUE(lws.ok()) << lws.status();
  EXPECT_EQ(lws->GroupOf(
                ByName("llm-0-1", {{"StatefulSet", "llm-0"}, {"LeaderWorkerSet", "llm", "llm-0"}})),
            "llm-0");
  const auto regex = SelectPods(Matching(".*"), kScaledObject, PodsWithGpus());
  ASSERT_TRUE(regex.ok()) << regex.status();
  EXPECT_EQ(regex->GroupOf(
                Owned("llm-0-1", {{"StatefulSet", "llm-0"}, {"LeaderWorkerSet", "llm", "llm-0"}})),
            "llm-0");
  EXPECT_EQ(regex->GroupOf(
                ByName("llm-0", {{"StatefulSet", "llm"}, {"LeaderWorkerSet", "llm", "llm-0"}})),
            "")
      << "known by its name alone: not known to be one of a group";
}

}  // namespace
}  // namespace gpuscaler
