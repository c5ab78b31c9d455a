// Rules on how much load a target allows per replica.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trigger/test_linted_manifest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kEngine[] = "engineEndpoint: http://llm.example.com:8000\n";
constexpr char kPressure[] = "profile: vllm-inference\nmaxConcurrency: '64'\ntpotSloMs: '30'\n";
constexpr char kWithoutDemand[] = "\ndemand: 'off'";
constexpr char kUnlimitedRequests[] = "profile: vllm-requests\n";
constexpr char kRequests[] = "profile: vllm-requests\nmaxConcurrency: '256'\n";

// A ScaledObject with one trigger that has these lines of metadata from line 8 on.
std::string Capacity(int max_replicas, const std::string& metadata) {
  std::string yaml = absl::StrCat(
      "kind: ScaledObject\nmetadata: {name: llm}\nspec:\n  scaleTargetRef: {name: llm}\n",
      "  minReplicaCount: 1\n  maxReplicaCount: ", max_replicas,
      "\n  triggers: [{type: external, metadata: {\n    scalerAddress: 'gpu-scaler:6000'");
  for (absl::string_view line : absl::StrSplit(metadata, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&yaml, ",\n    ", line);
  }
  return absl::StrCat(yaml, "}}]\n");
}

TEST(CapacityLint, AnEngineProfileWithoutMaxConcurrencyHasUnknownCapacity) {
  for (const char* profile : {"vllm-inference", "tgi-inference"}) {
    const std::string metadata = absl::StrCat(kEngine, "profile: ", profile, "\n");
    const std::vector<Finding> findings = FindingsIn(Capacity(8, metadata));
    ASSERT_EQ(findings.size(), 1u) << profile;
    EXPECT_EQ(findings[0].rule, "pressure-without-limit");
    EXPECT_EQ(findings[0].severity, Finding::Severity::kWarning);
    EXPECT_EQ(findings[0].line, 10);
    EXPECT_THAT(findings[0].message, HasSubstr("vLLM's --max-num-seqs"));
  }
}

TEST(CapacityLint, ATargetOfRequestsWithoutMaxConcurrencyIsNoted) {
  for (const char* metadata : {kUnlimitedRequests, "metricType: requests_running"}) {
    const std::vector<Finding> findings =
        FindingsIn(Capacity(8, absl::StrCat(kEngine, metadata, "\ntargetValue: '32'")));
    ASSERT_EQ(findings.size(), 1u) << metadata;
    EXPECT_EQ(findings[0].rule, "batch-limit-not-given");
    EXPECT_EQ(findings[0].severity, Finding::Severity::kNote);
    EXPECT_EQ(findings[0].line, 10);
    EXPECT_THAT(findings[0].message, HasSubstr("fewer than the target of 32 requests"));
    EXPECT_THAT(findings[0].message, HasSubstr("vLLM's --max-num-seqs"));
  }
  EXPECT_THAT(RulesIn(Capacity(8, absl::StrCat(kEngine, kRequests))), IsEmpty());
  EXPECT_THAT(RulesIn(Capacity(8, absl::StrCat(kEngine, kUnlimitedRequests, "engine: nim"))),
              IsEmpty())
      << "it reports its limit";
}

TEST(CapacityLint, DemandNeedsMaxConcurrencyOrTimePerToken) {
  for (const char* metadata :
       {"profile: vllm-inference\n", "metricType: demand_replicas\ntargetValue: '1'\n"}) {
    const std::string yaml = absl::StrCat(kEngine, metadata);
    const std::vector<Finding> findings = FindingsIn(Capacity(8, yaml));
    ASSERT_EQ(findings.size(), 1u) << metadata;
    EXPECT_EQ(findings[0].rule, "pressure-without-limit");
    EXPECT_THAT(findings[0].message,
                HasSubstr("capacity unknown: set maxConcurrency or tpotSloMs;"));
    EXPECT_THAT(RulesIn(Capacity(8, yaml + "tpotSloMs: '30'")),
                ElementsAre(EndsWith(" batch-limit-not-given")))
        << metadata;
    EXPECT_THAT(RulesIn(Capacity(8, yaml + "maxConcurrency: '64'")),
                ElementsAre(EndsWith(" time-per-token-unbounded")))
        << metadata;
  }
  const std::string observed =
      absl::StrCat(kEngine, "profile: vllm-inference\ndemand: observe\ntpotSloMs: '30'\n");
  EXPECT_THAT(FindingsIn(Capacity(8, observed)).at(0).message,
              HasSubstr("tpotSloMs with demand: on"))
      << "the pressure counts, which has no time per token";
}

TEST(CapacityLint, DemandWithoutTimePerTokenIsNoted) {
  const std::string limited =
      absl::StrCat(kEngine, "profile: tgi-inference\nmaxConcurrency: '64'\n");
  const std::vector<Finding> findings = FindingsIn(Capacity(8, limited));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "time-per-token-unbounded");
  EXPECT_EQ(findings[0].severity, Finding::Severity::kNote);
  EXPECT_EQ(findings[0].line, 11);
  EXPECT_THAT(findings[0].message, HasSubstr("tpotSloMs is not given"));
  EXPECT_THAT(RulesIn(Capacity(8, limited + "tpotSloMs: '30'")), IsEmpty());
  EXPECT_THAT(RulesIn(Capacity(8, limited + "ttftSloMs: '2000'\nengine: vllm")),
              ElementsAre("11 time-per-token-unbounded"));
  EXPECT_THAT(RulesIn(Capacity(8, limited + "targetValue: '50'\ndemand: observe")),
              ElementsAre("11 time-per-token-unbounded"));
  EXPECT_THAT(RulesIn(Capacity(8, limited + "targetValue: '50'\ndemand: 'off'")), IsEmpty());
  EXPECT_THAT(RulesIn(Capacity(8, limited + "targetValue: '50'\nengine: llama_cpp")), IsEmpty())
      << "it reports no finished answers, so no demand is computed";
}

TEST(CapacityLint, AMissingBatchLimitBesideTimePerTokenIsNoted) {
  const std::string bound =
      absl::StrCat(kEngine, "profile: vllm-inference\ntargetValue: '50'\ntpotSloMs: '30'\n");
  const std::vector<Finding> findings = FindingsIn(Capacity(8, bound));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "batch-limit-not-given");
  EXPECT_EQ(findings[0].severity, Finding::Severity::kNote);
  EXPECT_EQ(findings[0].line, 12);
  EXPECT_THAT(findings[0].message, HasSubstr("plans the batch that tpotSloMs allows"));
  EXPECT_THAT(findings[0].message, HasSubstr("vLLM's --max-num-seqs"));
  for (const char* engine : {"vllm", "sglang", "tgi", "lmdeploy"}) {
    EXPECT_THAT(RulesIn(Capacity(8, absl::StrCat(bound, "engine: ", engine))),
                ElementsAre("12 batch-limit-not-given"));
  }
  for (const char* engine : {"nim", "trtllm_serve"}) {
    EXPECT_THAT(RulesIn(Capacity(8, absl::StrCat(bound, "engine: ", engine))), IsEmpty());
  }
  EXPECT_THAT(RulesIn(Capacity(8, bound + "maxConcurrency: '64'")), IsEmpty());
  for (const char* demand : {"observe", "'off'"}) {
    EXPECT_THAT(RulesIn(Capacity(8, absl::StrCat(bound, "demand: ", demand))),
                ElementsAre("10 pressure-without-limit"));
  }
}

TEST(CapacityLint, NoTargetOfDemandCycles) {
  const std::string high = absl::StrCat(kEngine, kPressure, "targetValue: '80'\n");
  EXPECT_THAT(RulesIn(Capacity(8, high + "demand: observe")), ElementsAre("13 target-cycles"));
  EXPECT_THAT(RulesIn(Capacity(8, high + "demand: 'off'")), ElementsAre("13 target-cycles"));
  EXPECT_THAT(RulesIn(Capacity(8, high)), IsEmpty());
}

TEST(CapacityLint, ATargetOfPressureCyclesIfDemandIsUnavailable) {
  const std::string profile = absl::StrCat(kEngine, "profile: vllm-inference\nengine: ");
  const std::string of_llama_cpp = profile + "llama_cpp\nmaxConcurrency: '8'\n";
  EXPECT_THAT(RulesIn(Capacity(8, of_llama_cpp)), ElementsAre("10 target-cycles"))
      << "the profile's 80, where up to 70 is stable";
  EXPECT_THAT(RulesIn(Capacity(8, of_llama_cpp + "targetValue: '70'")), IsEmpty());
  EXPECT_THAT(RulesIn(Capacity(1, of_llama_cpp)), IsEmpty()) << "a single replica stays";
  EXPECT_THAT(RulesIn(Capacity(8, profile + "triton\ntargetValue: '80'")),
              UnorderedElementsAre("10 tensorrt-llm-needed", "12 target-cycles"));
  for (const char* engine : {"ollama", "tei"}) {
    EXPECT_THAT(RulesIn(Capacity(8, absl::StrCat(profile, engine, "\nmaxConcurrency: '8'"))),
                IsEmpty())
        << "it exports no pressure, so the GPUs count";
  }
}

TEST(CapacityLint, TimePerTokenDoesNotBoundPressureIfDemandIsUnavailable) {
  const std::vector<Finding> findings =
      FindingsIn(Capacity(8, absl::StrCat(kEngine, "profile: vllm-inference\nengine: llama_cpp\n",
                                          "targetValue: '50'\ntpotSloMs: '30'")));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "pressure-without-limit");
  EXPECT_THAT(findings[0].message, HasSubstr("capacity unknown: set maxConcurrency;"));
}

TEST(CapacityLint, AnEngineThatReportsItsLimitNeedsNoMaxConcurrency) {
  const std::string metadata = absl::StrCat(kEngine, "profile: vllm-inference\nengine: ");
  for (const char* engine : {"nim", "trtllm_serve"}) {
    EXPECT_THAT(RulesIn(Capacity(8, absl::StrCat(metadata, engine, "\ntpotSloMs: '30'"))),
                IsEmpty());
    EXPECT_THAT(RulesIn(Capacity(8, metadata + engine)),
                ElementsAre("10 time-per-token-unbounded"));
  }
  EXPECT_THAT(RulesIn(Capacity(8, metadata + "vllm")), ElementsAre("10 pressure-without-limit"));
}

TEST(CapacityLint, ARequestsTargetOfTwoThirdsOfTheLimitIsTooHigh) {
  const auto with_limit = [](const char* limit) {
    return Capacity(8,
                    absl::StrCat(kEngine, kUnlimitedRequests, "maxConcurrency: '", limit, "'\n"));
  };
  EXPECT_THAT(RulesIn(with_limit("72")), ElementsAre("10 requests-target-high"));
  EXPECT_THAT(RulesIn(with_limit("73")), IsEmpty());
  EXPECT_THAT(FindingsIn(with_limit("64")).at(0).message,
              HasSubstr("two thirds of maxConcurrency 64"));
  EXPECT_THAT(FindingsIn(with_limit("64")).at(0).message, HasSubstr("use 32 or less"));
}

TEST(CapacityLint, WarnsOfTargetsThatCycleWithEveryEngineOfTheBench) {
  struct Row {
    int max_replicas;
    const char* cycles;
    const char* stable_target;
  };
  for (const Row& row : {Row{2, "53", "52"}, Row{3, "63", "62"}, Row{8, "71", "70"},
                         Row{20, "75", "74"}, Row{50, "75", "74"}}) {
    const auto with_target = [&](const char* target) {
      return RulesIn(Capacity(row.max_replicas, absl::StrCat(kEngine, kPressure, "targetValue: '",
                                                             target, "'", kWithoutDemand)));
    };
    EXPECT_THAT(with_target(row.cycles), ElementsAre("13 target-cycles")) << row.max_replicas;
    EXPECT_THAT(with_target(row.stable_target), IsEmpty()) << row.max_replicas;
  }
  EXPECT_THAT(RulesIn(Capacity(2, absl::StrCat(kEngine, kRequests, "targetValue: '40'"))),
              ElementsAre("12 target-cycles"));
  EXPECT_THAT(RulesIn(Capacity(2, absl::StrCat(kEngine, kRequests, "targetValue: '39'"))),
              IsEmpty());
}

TEST(CapacityLint, TheDefaultTargetOfAProfileMayCycleToo) {
  EXPECT_THAT(RulesIn(Capacity(2, absl::StrCat(kEngine, kPressure))), IsEmpty())
      << "the demand counts";
  EXPECT_THAT(RulesIn(Capacity(50, absl::StrCat(kEngine, kPressure, "demand: 'off'"))),
              ElementsAre("10 target-cycles"))
      << "80 % of vllm-inference, where 74 % hold";
  EXPECT_THAT(RulesIn(Capacity(2, absl::StrCat(kEngine, kRequests))),
              ElementsAre("10 target-cycles"))
      << "48 requests, where 39 hold 2 replicas";
  EXPECT_THAT(RulesIn(Capacity(4, absl::StrCat(kEngine, kRequests))), IsEmpty());
  EXPECT_THAT(RulesIn(Capacity(1, absl::StrCat(kEngine, kRequests))), IsEmpty())
      << "a single replica stays";
}

// A ScaledObject with these triggers of this scaler, one per line from line 8 on.
std::string WithTriggers(const std::vector<std::string>& metadata) {
  std::string yaml =
      "kind: ScaledObject\nmetadata: {name: llm}\nspec:\n"
      "  scaleTargetRef: {name: llm}\n  minReplicaCount: 1\n"
      "  maxReplicaCount: 8\n  triggers:\n";
  for (const std::string& keys : metadata) {
    absl::StrAppend(&yaml, "  - {type: external, metadata: {scalerAddress: 'gpu-scaler:6000', ",
                    "engineEndpoint: 'http://llm.example.com:8000', ", keys, "}}\n");
  }
  return yaml;
}

TEST(CapacityLint, AQueueOrLatencyNeedsATriggerOnLoad) {
  for (const char* metadata :
       {"profile: vllm-queue-depth", "metricType: requests_waiting, targetValue: '5'",
        "metricType: pending_ratio, targetValue: '0.1', maxConcurrency: '64'",
        "metricType: queue_wait_ms, targetValue: '50'", "metricType: ttft_ms, targetValue: '500'",
        "metricType: tpot_ms, targetValue: '50'"}) {
    const std::vector<Finding> findings = FindingsIn(WithTriggers({metadata}));
    ASSERT_EQ(findings.size(), 1u) << metadata;
    EXPECT_EQ(findings[0].rule, "queue-or-latency-alone");
    EXPECT_EQ(findings[0].severity, Finding::Severity::kWarning);
    EXPECT_EQ(findings[0].line, 8);
    EXPECT_THAT(findings[0].message, HasSubstr("such as profile vllm-inference")) << metadata;
  }
  EXPECT_THAT(FindingsIn(WithTriggers({"profile: triton-queue-wait"})).at(0).message,
              HasSubstr("triton_queue_wait_ms is low until replicas are full"));
  EXPECT_THAT(FindingsIn(WithTriggers({"profile: triton-queue-wait"})).at(0).message,
              HasSubstr("triton-request-rate"));
}

TEST(CapacityLint, ASecondQueueOrLatencyDoesNotFollowTheLoadEither) {
  const std::string wait = "profile: triton-queue-wait";
  const std::string latency = "metricType: ttft_ms, targetValue: '500'";
  EXPECT_THAT(RulesIn(WithTriggers({wait, latency})), ElementsAre("8 queue-or-latency-alone"));
  EXPECT_THAT(RulesIn(WithTriggers({wait, "profile: triton-request-rate"})), IsEmpty());
  EXPECT_THAT(RulesIn(WithTriggers({latency}) + kCron), IsEmpty())
      << "a trigger of another scaler may follow the load";
  EXPECT_THAT(RulesIn(Capacity(1, absl::StrCat(kEngine, "profile: vllm-queue-depth"))), IsEmpty())
      << "a single replica stays";
}

constexpr char kRunsVllm[] = R"(---
kind: Deployment
metadata: {name: llm}
spec:
  template:
    metadata: {labels: {app: llm}}
    spec: {containers: [{name: proxy, image: envoy}, {name: vllm, image: 'vllm/vllm-openai:v0.11.0'}]}
)";

TEST(CapacityLint, AWorkloadThatRunsAnEngineSuggestsItsProfile) {
  const std::string plain = Capacity(8, "window: 30s");
  EXPECT_THAT(RulesIn(plain), IsEmpty()) << "the Deployment is in no file";
  const std::vector<Finding> findings = FindingsIn(plain + kRunsVllm);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "engine-without-profile");
  EXPECT_THAT(findings[0].message,
              HasSubstr("profile vllm-inference reads their requests and KV cache"));
  EXPECT_THAT(RulesIn(Capacity(8, "metricType: gpu_utilization") + kRunsVllm), IsEmpty())
      << "the user has chosen";
  EXPECT_THAT(RulesIn(Capacity(8, absl::StrCat(kEngine, kRequests)) + kRunsVllm), IsEmpty());
}

// A ScaledObject with a trigger on engines and one on held requests of a gateway, each with
// more metadata.
std::string BesideGateway(const std::string& engines, const std::string& gateway) {
  return absl::StrCat(
      "kind: ScaledObject\nmetadata: {name: llm}\nspec:\n  scaleTargetRef: {name: llm}\n",
      "  minReplicaCount: 0\n  maxReplicaCount: 8\n  triggers:\n",
      "  - {type: external, metadata: {scalerAddress: 'gpu-scaler:6000', profile: vllm-inference, ",
      "engineEndpoint: 'http://llm.example.com:8000', maxConcurrency: '64', tpotSloMs: '30'",
      engines, "}}\n",
      gateway.empty() ? ""
                      : absl::StrCat("  - {type: external, metadata: {scalerAddress: "
                                     "'gpu-scaler:6000', metricType: prometheus, "
                                     "prometheusEndpoint: 'http://gateway.example.com:9090', "
                                     "prometheusMetric: queue_size, ",
                                     gateway, "}}\n"));
}

TEST(CapacityLint, ATriggerOnHeldRequestsBesideDemandIsReplacedByGatewayUrl) {
  const std::string gateway_url =
      ", gatewayUrl: 'http://gateway.example.com:9090', prometheusMetric: queue_size";
  EXPECT_THAT(RulesIn(BesideGateway("", "targetValue: '16'")), ElementsAre("9 held-beside-demand"));
  EXPECT_THAT(RulesIn(BesideGateway("", "targetValue: '1000'")), IsEmpty()) << "it only activates";
  EXPECT_THAT(RulesIn(BesideGateway("", "targetValue: '8', prometheusKind: rate")), IsEmpty());
  EXPECT_THAT(RulesIn(BesideGateway(", demand: 'off'", "targetValue: '16'")),
              testing::Not(testing::Contains(HasSubstr("held-beside-demand"))));
  EXPECT_THAT(RulesIn(BesideGateway(gateway_url, "")), IsEmpty()) << "it wakes by itself";
  EXPECT_THAT(RulesIn(BesideGateway("", "")), ElementsAre("5 nothing-wakes"));
}

}  // namespace
}  // namespace gpuscaler
