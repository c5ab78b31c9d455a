// Rules on the workload that owns the counted GPUs.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trigger/test_linted_manifest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A ScaledObject with `workload` on line 11.
std::string ScalingOn(const std::string& workload, const std::string& target) {
  return absl::StrCat("kind: ScaledObject\nmetadata: {name: llm}\nspec:\n  scaleTargetRef: ",
                      target, "\n  minReplicaCount: 1\n  triggers:\n  - type: external\n",
                      "    metadata:\n      scalerAddress: gpu-scaler:6000\n",
                      "      targetValue: '70'\n      workload: ", workload, "\n");
}

TEST(WorkloadLint, TheTargetsNameWithAnotherKindIsWarnedOf) {
  const auto findings = FindingsIn(ScalingOn("StatefulSet/llm", "{name: llm}"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "workload-of-another-kind");
  EXPECT_EQ(findings[0].severity, Finding::Severity::kWarning);
  EXPECT_EQ(findings[0].line, 11);
  EXPECT_THAT(findings[0].message, HasSubstr("use workload: Deployment/llm"));
  const std::string of_set = "{kind: StatefulSet, name: llm}";
  EXPECT_THAT(RulesIn(ScalingOn("StatefulSet/llm", of_set)), IsEmpty());
  EXPECT_THAT(RulesIn(ScalingOn("statefulset/llm", of_set)), IsEmpty());
  EXPECT_THAT(RulesIn(ScalingOn("StatefulSet/chat", "{name: llm}")),
              ElementsAre("11 load-of-another"));
}

TEST(WorkloadLint, AnOperatorsKindMayHavePodsOfAnyKind) {
  const std::string of_operator = "{kind: NIMService, name: llm}";
  for (const char* workload : {"Deployment/llm", "StatefulSet/llm", "NIMService/llm", "llm"}) {
    EXPECT_THAT(RulesIn(ScalingOn(workload, of_operator)), IsEmpty()) << workload;
  }
  EXPECT_THAT(RulesIn(ScalingOn("NIMService/llm", "{name: llm}")),
              ElementsAre("11 workload-of-another-kind"))
      << "a Deployment's pods are never an operator's";
}

TEST(WorkloadLint, AKindWithSimilarPodNamesIsANote) {
  const auto findings =
      FindingsIn(ScalingOn("StatefulSet/llm", "{kind: LeaderWorkerSet, name: llm}"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "workload-kind-alike");
  EXPECT_EQ(findings[0].severity, Finding::Severity::kNote);
  EXPECT_THAT(findings[0].message, HasSubstr("the leader of each group counts alone"));
  EXPECT_THAT(findings[0].message, HasSubstr("use workload: LeaderWorkerSet/llm"));
  for (const auto& [workload, kind] :
       std::vector<std::pair<std::string, std::string>>{{"Rollout", "Deployment"},
                                                        {"Deployment", "Rollout"},
                                                        {"LeaderWorkerSet", "StatefulSet"},
                                                        {"Job", "ReplicaSet"}}) {
    const std::string target = absl::StrCat("{kind: ", kind, ", name: llm}");
    EXPECT_THAT(RulesIn(ScalingOn(workload + "/llm", target)),
                ElementsAre("11 workload-kind-alike"))
        << workload;
  }
}

TEST(WorkloadLint, ThePredictorBelongsToItsInferenceService) {
  EXPECT_THAT(RulesIn(ScalingOn("InferenceService/llm", "{name: llm-predictor}")), IsEmpty());
  EXPECT_THAT(RulesIn(ScalingOn("InferenceService/llm", "{name: chat-predictor}")),
              ElementsAre("11 load-of-another"));
}

TEST(WorkloadLint, AMistypedKindIsReportedWithTheKnownKinds) {
  for (const char* mistyped : {"Deploymnet", "Deploment", "deploymment"}) {
    const auto findings = FindingsIn(ScalingOn(absl::StrCat(mistyped, "/llm"), "{name: chat}"));
    ASSERT_EQ(findings.size(), 2u) << "it scales on another's load besides";
    EXPECT_EQ(findings[1].rule, "workload-kind-mistyped");
    EXPECT_EQ(findings[1].severity, Finding::Severity::kWarning);
    EXPECT_THAT(findings[1].message, HasSubstr("Deployment, StatefulSet, DaemonSet"));
    EXPECT_THAT(findings[1].message, HasSubstr("did you mean \"Deployment\"?"));
  }
  EXPECT_THAT(RulesIn(ScalingOn("NIMServce/llm", "{kind: NIMService, name: llm}")),
              ElementsAre("11 workload-kind-mistyped"));
}

TEST(WorkloadLint, ACustomControllersKindIsANote) {
  for (const char* kind : {"PyTorchJob", "TFJob", "MPIJob", "TrainJob", "NIMService", "CloneSet",
                           "LLMInferenceService", "PodCliqueSet", "RoleSet", "Notebook"}) {
    const auto findings = FindingsIn(ScalingOn(absl::StrCat(kind, "/llm"), "{name: chat}"));
    ASSERT_EQ(findings.size(), 2u) << kind;
    EXPECT_EQ(findings[1].rule, "workload-kind-unknown") << kind;
    EXPECT_EQ(findings[1].severity, Finding::Severity::kNote) << kind;
    EXPECT_THAT(findings[1].message, Not(HasSubstr("did you mean"))) << kind;
  }
  EXPECT_THAT(RulesIn(ScalingOn("Notebook/llm", "{kind: Notebook, name: llm}")), IsEmpty())
      << "what is scaled is one";
}

// A ScaledObject llm of Deployment `target` with minReplicaCount on line 6.
std::string Scaling(const char* target, int min_replicas, const char* metadata = "") {
  return absl::StrCat("kind: ScaledObject\nmetadata: {name: llm}\nspec:\n  scaleTargetRef:\n",
                      "    name: ", target, "\n  minReplicaCount: ", min_replicas,
                      "\n  triggers:\n",
                      "  - type: external\n    metadata:\n      scalerAddress: gpu-scaler:1\n",
                      "      targetValue: '70'\n      ", metadata, "\n");
}

TEST(WorkloadLint, AnotherNamedWorkloadWakes) {
  EXPECT_THAT(RulesIn(Scaling("llm", 0, "workload: llm")), ElementsAre("6 nothing-wakes"));
  EXPECT_THAT(RulesIn(Scaling("llm", 0, "workload: Rollout/llm")),
              ElementsAre("6 nothing-wakes", "12 workload-kind-alike"));
  EXPECT_THAT(RulesIn(Scaling("llm", 0, "workload: gateway")), ElementsAre("12 load-of-another"));
  const Finding note = FindingsIn(Scaling("llm", 0, "workload: gateway")).at(0);
  EXPECT_EQ(note.severity, Finding::Severity::kNote);
  EXPECT_THAT(note.message, HasSubstr("scales Deployment/llm on the load of gateway"));
}

TEST(WorkloadLint, AScaledObjectThatIsNotNamedLikeItsTargetNeedsAWorkload) {
  EXPECT_THAT(RulesIn(Scaling("vllm", 0) + kCron), ElementsAre("8 workload-guessed"));
  EXPECT_THAT(FindingsIn(Scaling("vllm", 0) + kCron).at(0).message,
              HasSubstr("add workload: vllm to the metadata"));
  EXPECT_THAT(RulesIn(Scaling("vllm", 0, "workload: vllm") + kCron), IsEmpty());
  EXPECT_THAT(RulesIn(Scaling("vllm", 0, "podRegex: vllm-.*") + kCron), IsEmpty());
  EXPECT_THAT(RulesIn(Scaling("vllm", 0, "scope: node") + kCron), IsEmpty());
  EXPECT_THAT(RulesIn(Scaling("vllm", 1) + kCron), ElementsAre("8 workload-guessed"));
  EXPECT_THAT(RulesIn(Scaling("vllm", 1, "workload: vllm") + kCron), IsEmpty());
  EXPECT_THAT(RulesIn(Scaling("llm", 0) + kCron), IsEmpty()) << "named alike";
}

TEST(WorkloadLint, PlaceholdersInTargetAndReplicasAreNotChecked) {
  EXPECT_THAT(RulesIn(Scaling("${APP}", 0, "workload: llm") + kCron), IsEmpty());
  EXPECT_THAT(RulesIn(Scaling("${APP}", 0) + kCron), IsEmpty());
  const std::string at_zero = Scaling("llm", 0);
  EXPECT_THAT(RulesIn(at_zero), ElementsAre("6 nothing-wakes"));
  std::string filled_in = at_zero;
  const std::string number = "minReplicaCount: 0";
  filled_in.replace(filled_in.find(number), number.size(), "minReplicaCount: ${MIN}");
  EXPECT_THAT(RulesIn(filled_in), IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
