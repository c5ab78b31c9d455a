// Rules on maxConcurrency and the flag that limits the engine's batch.
#include <string>
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

// A ScaledObject of `target` with maxConcurrency on line 8.
std::string Limited(const std::string& limit, const std::string& more = "",
                    const std::string& target = "name: llm") {
  return absl::StrCat(
      "kind: ScaledObject\nmetadata: {name: llm}\nspec:\n  scaleTargetRef: {", target,
      "}\n  minReplicaCount: 1\n  maxReplicaCount: 8\n",
      "  triggers: [{type: external, metadata: {scalerAddress: 'gpu-scaler:6000',\n",
      "    maxConcurrency: '", limit, "',\n    profile: vllm-inference, ",
      "engineFallback: activity, tpotSloMs: '30'", more, "}}]\n");
}

std::string Runs(const std::string& container) {
  return absl::StrCat("---\nkind: Deployment\nmetadata: {name: llm}\nspec:\n  template:\n",
                      "    metadata: {labels: {app: llm}}\n    spec:\n      containers: [{name: ",
                      "proxy, image: envoy, args: [--parallel, '3']}, {name: engine, ", container,
                      "}]\n");
}

// The rules that fire with maxConcurrency 64.
std::vector<std::string> RulesBeside(const std::string& container) {
  return RulesIn(Limited("64") + Runs(container));
}

TEST(BatchLimitLint, WarnsIfMaxConcurrencyIsAboveTheEnginesFlag) {
  const std::vector<Finding> findings =
      FindingsIn(Limited("64") + Runs("image: vllm/vllm-openai:v1, args: [--max-num-seqs=16]"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "max-concurrency-above-flag");
  EXPECT_EQ(findings[0].severity, Finding::Severity::kWarning);
  EXPECT_EQ(findings[0].line, 8);
  EXPECT_THAT(findings[0].message, HasSubstr("maxConcurrency 64 is above the engine's limit "
                                             "(Deployment/llm has --max-num-seqs 16)"));
  EXPECT_THAT(findings[0].message, HasSubstr("use 16"));
}

TEST(BatchLimitLint, NotesMaxConcurrencyBelowTheEnginesFlag) {
  const std::vector<Finding> findings =
      FindingsIn(Limited("64") + Runs("image: vllm/vllm-openai:v1, args: [--max-num-seqs=256]"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "max-concurrency-below-flag");
  EXPECT_EQ(findings[0].severity, Finding::Severity::kNote);
  EXPECT_EQ(findings[0].line, 8);
  EXPECT_THAT(findings[0].message, HasSubstr("use 256, unless tokens take too long"));
}

TEST(BatchLimitLint, EachEngineHasItsFlag) {
  for (const char* container : {
           "image: vllm/vllm-openai:v1, args: [--max-num-seqs, '32']",
           "image: vllm/vllm-openai:v1, args: [--max_num_seqs=32]",
           "image: vllm/vllm-openai:v1, command: [vllm, serve, m, --max-num-seqs=32]",
           "image: vllm/vllm-openai:v1, command: [sh, -c], args: ['vllm --max-num-seqs \"32\"']",
           "image: vllm/vllm-openai:v1, args: [--max-num-seqs=64, --max-num-seqs=32]",
           "image: vllm/vllm-openai:v1, args: [--max-num-seqs=32, --data-parallel-size=1]",
           "image: lmsysorg/sglang:v1, args: [--max-running-requests, '32']",
           "image: ghcr.io/huggingface/text-generation-inference:3, args: [--max-batch-size=32]",
           "image: openmmlab/lmdeploy:v1, args: [--max-batch-size, '32']",
           "image: ghcr.io/ggml-org/llama.cpp:server, args: [--parallel, '32']",
           "image: ghcr.io/ggml-org/llama.cpp:server, args: [-np, '32']",
       }) {
    EXPECT_THAT(RulesBeside(container), ElementsAre("8 max-concurrency-above-flag")) << container;
  }
}

TEST(BatchLimitLint, UnknownLimitsAreNotCompared) {
  for (const char* container : {
           "image: vllm/vllm-openai:v1",
           "image: vllm/vllm-openai:v1, args: [--max-num-seqs=64]",
           "image: vllm/vllm-openai:v1, args: [--max-num-seqs]",
           "image: vllm/vllm-openai:v1, args: ['--max-num-seqs=$(MAX_NUM_SEQS)']",
           "image: vllm/vllm-openai:v1, args: ['--max-num-seqs={{ .Values.seqs }}']",
           "image: vllm/vllm-openai:v1, args: [--max-num-seqs=32, --data-parallel-size=2]",
           "image: vllm/vllm-openai:v1, args: [--max-running-requests=32]",
           "image: nvcr.io/nim/meta/llama3, args: [--max-num-seqs=32]",
           "image: my/proxy, args: [--max-num-seqs=32]",
       }) {
    EXPECT_THAT(RulesBeside(container), IsEmpty()) << container;
  }
}

constexpr char kLimitOf16[] = "image: vllm/vllm-openai:v1, args: [--max-num-seqs=16]";

TEST(BatchLimitLint, TheEnginesOfAnotherWorkloadAreNotCompared) {
  EXPECT_THAT(RulesIn(Limited("64", ", workload: Deployment/other") + Runs(kLimitOf16)),
              ElementsAre("9 load-of-another"));
  const std::string service =
      "---\nkind: Service\nmetadata: {name: engines}\nspec: {clusterIP: None, selector: {app: ";
  const std::string named = ", engineEndpoint: 'http://engines:8000'";
  EXPECT_THAT(RulesIn(Limited("64", named) + Runs(kLimitOf16) + service + "other}}\n"), IsEmpty());
  EXPECT_THAT(RulesIn(Limited("64", named) + Runs(kLimitOf16) + service + "llm}}\n"),
              ElementsAre("8 max-concurrency-above-flag"));
}

TEST(BatchLimitLint, TheLeadersOfALeaderWorkerSetHaveTheFlag) {
  const auto group = [](const std::string& leaders) {
    return absl::StrCat(
        "---\nkind: LeaderWorkerSet\nmetadata: {name: llm}\nspec:\n  leaderWorkerTemplate:\n",
        leaders.empty()
            ? ""
            : absl::StrCat("    leaderTemplate: {spec: {containers: [{", leaders, "}]}}\n"),
        "    workerTemplate: {spec: {containers: [{image: vllm/vllm-openai:v1, ",
        "args: [--max-num-seqs=32]}]}}\n");
  };
  const std::string scaled = Limited("64", "", "kind: LeaderWorkerSet, name: llm");
  EXPECT_THAT(FindingsIn(scaled + group(kLimitOf16)).at(0).message, HasSubstr("use 16"));
  EXPECT_THAT(FindingsIn(scaled + group("")).at(0).message, HasSubstr("use 32"));
}

}  // namespace
}  // namespace gpuscaler
