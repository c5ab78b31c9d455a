#include "scaling/lint.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Finding> FindingsIn(const std::string& yaml) {
  const auto findings = Lint(yaml, BuiltInProfiles());
  EXPECT_TRUE(findings.ok()) << yaml << findings.status();
  return findings.ok() ? *findings : std::vector<Finding>();
}

// "line rule".
std::vector<std::string> RulesIn(const std::string& yaml) {
  std::vector<std::string> rules;
  for (const Finding& finding : FindingsIn(yaml)) {
    rules.push_back(absl::StrCat(finding.line, " ", finding.rule));
  }
  return rules;
}

// A sound ScaledObject, its metadata from line 11 on.
std::string WithMetadata(const std::string& lines) {
  std::string yaml = R"(apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: llm, namespace: ai}
spec:
  scaleTargetRef: {name: llm}
  minReplicaCount: 1
  triggers:
  - type: external-push
    metadata:
      scalerAddress: keda-gpu-scaler.keda:6000
)";
  for (absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&yaml, "      ", line, "\n");
  }
  return yaml;
}

// A ScaledObject whose spec starts with `lines`, on line 5, and which has a sound trigger of ours.
std::string WithSpec(const std::string& lines) {
  std::string yaml = "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n";
  absl::StrAppend(&yaml, "metadata: {name: llm}\nspec:\n");
  for (absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&yaml, "  ", line, "\n");
  }
  return absl::StrCat(yaml, R"(  triggers:
  - type: external
    metadata: {scalerAddress: "gpu-scaler:6000", metricType: gpu_utilization, warmupSeconds: "120"}
)");
}

constexpr char kCron[] = "  - type: cron\n    metadata: {start: 0 8 * * *}\n";

TEST(Lint, ASoundManifestHasNoFindings) {
  EXPECT_THAT(RulesIn(WithMetadata("")), IsEmpty());
  EXPECT_THAT(RulesIn(WithMetadata("profile: triton-inference\naggregation: avg")), IsEmpty());
  EXPECT_THAT(RulesIn(WithMetadata("profile: distributed-training")), IsEmpty());
  EXPECT_THAT(RulesIn(WithSpec("minReplicaCount: 0") + kCron), IsEmpty());
}

TEST(Lint, EveryFaultOfTheMetadataIsAnErrorOnItsOwnLine) {
  const std::vector<Finding> findings =
      FindingsIn(WithMetadata("targetvalue: '80'\nwindow: 30s\naggregation: p90"));
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].line, 11);
  EXPECT_EQ(findings[0].rule, "bad-metadata");
  EXPECT_EQ(findings[0].severity, Finding::Severity::kError);
  EXPECT_EQ(findings[0].object, "ScaledObject ai/llm, trigger 0");
  EXPECT_THAT(findings[0].message, HasSubstr("did you mean \"targetValue\"?"));
  EXPECT_EQ(findings[1].line, 13);
  EXPECT_THAT(findings[1].message, HasSubstr("did you mean \"p95\"?"));
}

TEST(Lint, TriggerRulesFireOnTheLineOfTheirKey) {
  struct Row {
    const char* metadata;  // from line 11 on
    const char* want;
  };
  for (const Row& row : std::vector<Row>{
           {"profile: triton-inference\ntargetValue: '86'", "12 percent-target-high"},
           {"targetGpuUtilization: '95'", "11 percent-target-high"},
           {"profile: training", "11 percent-target-high"},
           {"replicaAggregation: max", "11 replica-aggregation-max"},
           {"window: 30s\nwindowAggregation: max", "12 window-peak"},
           {"windowAggregation: p95", "11 window-peak"},
           {"window: 0s", "11 window-zero"},
           {"window: 0s\nwindowAggregation: max", "11 window-zero"},
           {"aggregation: sum", "11 sum-of-percentages"},
           {"profile: vllm-inference", "11 saturation-unknown"},
           {"profile: vllm-inference\nengineFallback: none", "12 never-answers"},
           {"metricType: memory_used_percent", "11 literal-memory"},
           {"targetMemoryUtilization: '70'", "11 literal-memory"},
           {"profile: vllm-inference\nmetricType: memory_used_percent", "12 literal-memory"},
           {"metricType: power_draw", "11 target-of-another-metric"},
           {"profile: distributed-training\nmetricType: gpu_utilization\nactivationThreshold: '5'\n"
            "targetValue: '70'\naggregation: sum",
            "15 sum-of-percentages"},
           {"activationThreshold: '80'", "11 activation-above-target"},
           {"targetValue: 80", "11 metadata-not-a-string"},
           {"gpuIndex: -1", "11 metadata-not-a-string"},
           {"enableTLS: true", "11 metadata-not-a-string"},
           {"targetType: Value", "8 metric-type-mismatch"},
           {"podRegex: .*", "11 pod-regex-of-all"},
           {"podRegex: '[a-z0-9-]+'", "11 pod-regex-of-all"},
           {"workload: gateway", "11 load-of-another"},
           {"workload: StatefulSet/llm", "11 load-of-another"},
       }) {
    EXPECT_THAT(RulesIn(WithMetadata(row.metadata)), ElementsAre(row.want)) << row.metadata;
  }
}

TEST(Lint, PodsAndWorkloadsThatAreNamedAreFine) {
  EXPECT_THAT(RulesIn(WithMetadata("podRegex: llm-.*")), IsEmpty());
  EXPECT_THAT(RulesIn(WithMetadata("workload: llm")), IsEmpty());
  EXPECT_THAT(RulesIn(WithMetadata("workload: deployment/llm")), IsEmpty());
}

TEST(Lint, PeaksAndSumsAreFineForAmountsThatAddUp) {
  EXPECT_THAT(RulesIn(WithMetadata("metricType: power_draw\ntargetValue: '500'\nwindow: 0s\n"
                                   "windowAggregation: max\naggregation: sum")),
              IsEmpty());
}

TEST(Lint, SaturationUnknownSaysWhatCountsAndIsSilentOnceTheUserHasDecided) {
  const std::string profile = "profile: tgi-inference\n";
  const std::string message = FindingsIn(WithMetadata(profile)).at(0).message;
  EXPECT_THAT(message, HasSubstr("busy and not full"));
  EXPECT_THAT(message, HasSubstr("set engineFallback to activity, or to utilization if"));
  for (const char* decision : {"utilization", "activity"}) {
    const std::string metadata = absl::StrCat(profile, "engineFallback: ", decision);
    EXPECT_THAT(RulesIn(WithMetadata(metadata)), IsEmpty()) << decision;
  }
}

TEST(Lint, TheMetricTypeOfTheTriggerAndTargetTypeMustAgree) {
  const std::string yaml = WithMetadata("");
  const auto with_field = [&](const char* field, const char* key) {
    return absl::StrCat(yaml, key, "    metricType: ", field, "\n");
  };
  EXPECT_THAT(RulesIn(with_field("Value", "")), ElementsAre("11 metric-type-mismatch"));
  EXPECT_THAT(RulesIn(with_field("Value", "      targetType: Value\n")), IsEmpty());
  EXPECT_THAT(RulesIn(with_field("AverageValue", "      targetType: Value\n")),
              ElementsAre("12 metric-type-mismatch"));
  EXPECT_THAT(RulesIn(with_field("AverageValue", "")), IsEmpty());
  EXPECT_THAT(FindingsIn(with_field("Utilization", "")).at(0).message,
              HasSubstr("refused by KEDA"));
}

TEST(Lint, ObjectRulesFireOnTheLineOfTheirField) {
  struct Row {
    const char* spec;  // from line 5 on
    bool cron;
    std::vector<std::string> want;
  };
  for (const Row& row : std::vector<Row>{
           {"minReplicaCount: 0", false, {"5 nothing-wakes"}},
           {"", false, {"1 nothing-wakes"}},
           {"minReplicaCount: 2\nidleReplicaCount: 0", false, {"6 nothing-wakes"}},
           {"minReplicaCount: 1", false, {}},
           {"minReplicaCount: 0\ncooldownPeriod: 119", true, {"6 cooldown-short"}},
           {"minReplicaCount: 0\ncooldownPeriod: 120", true, {}},
           {"minReplicaCount: 1\ncooldownPeriod: 10", true, {}},
           {"minReplicaCount: 0\npollingInterval: 600", true, {"6 cooldown-short"}},
           {"minReplicaCount: 0\nfallback:\n  replicas: 3", true, {"7 fallback-wakes"}},
           {"minReplicaCount: 1\nfallback:\n  replicas: 3", true, {"7 fallback-shrinks"}},
           {"minReplicaCount: 1\nfallback:\n  replicas: 3\n  behavior: static",
            true,
            {"8 fallback-shrinks"}},
           {"minReplicaCount: 1\nfallback:\n  replicas: 3\n  behavior: currentReplicasIfLower",
            true,
            {"8 fallback-shrinks"}},
           {"minReplicaCount: 1\nfallback:\n  replicas: 3\n  behavior: currentReplicasIfHigher",
            true,
            {}},
           {"minReplicaCount: 1\nmaxReplicaCount: 8\nfallback: {replicas: 8}", true, {}},
       }) {
    EXPECT_EQ(RulesIn(WithSpec(row.spec) + (row.cron ? kCron : "")), row.want) << row.spec;
  }
}

TEST(Lint, AMetricThatIsNeverZeroNeedsAThresholdToGoToZero) {
  const auto with_trigger = [](const char* spec, const char* metadata) {
    return absl::StrCat(WithSpec(spec), kCron, "  - type: external\n    metadata:\n",
                        "      scalerAddress: gpu-scaler:6000\n      targetValue: '50'\n      ",
                        metadata, "\n");
  };
  for (const char* metric : {"power_draw", "temperature", "memory_used_mib"}) {
    const std::string metadata = absl::StrCat("metricType: ", metric);
    EXPECT_THAT(RulesIn(with_trigger("minReplicaCount: 0", metadata.c_str())),
                ElementsAre("15 never-sleeps"))
        << metric;
    EXPECT_THAT(RulesIn(with_trigger("minReplicaCount: 1", metadata.c_str())), IsEmpty());
    EXPECT_THAT(RulesIn(with_trigger("minReplicaCount: 0",
                                     (metadata + "\n      activationThreshold: '40'").c_str())),
                IsEmpty());
  }
  for (const char* metric : {"gpu_utilization", "pcie_tx_kbps", "nvlink_rx_mbps"}) {
    const std::string metadata = absl::StrCat("metricType: ", metric);
    EXPECT_THAT(RulesIn(with_trigger("minReplicaCount: 0", metadata.c_str())), IsEmpty()) << metric;
  }
}

TEST(Lint, OnlyDemandThatExistsAtZeroWakes) {
  const std::string yaml = WithSpec("minReplicaCount: 0");
  EXPECT_THAT(RulesIn(yaml + "  - {type: cpu, metadata: {value: '50'}}\n"),
              ElementsAre("5 nothing-wakes"));
  EXPECT_THAT(RulesIn(yaml + "  - {type: prometheus, metadata: {query: up}}\n"), IsEmpty());
  EXPECT_THAT(RulesIn(yaml + "  - {type: external, metadata: {scalerAddress: 'other:9'}}\n"),
              ElementsAre("9 not-checked"));
  EXPECT_THAT(RulesIn(yaml + "  - type: external\n    metadata: {scalerAddress: 'gpu-scaler:1', "
                             "scaleIn: hold}\n"),
              IsEmpty());
  EXPECT_THAT(RulesIn(yaml + "  - type: external\n    metadata: {scalerAddress: 'gpu-scaler:1', "
                             "scope: node}\n"),
              IsEmpty());
}

// A ScaledObject llm of Deployment `target`, its minReplicaCount on line 6.
std::string Scaling(const char* target, int min_replicas, const char* metadata = "") {
  return absl::StrCat("kind: ScaledObject\nmetadata: {name: llm}\nspec:\n  scaleTargetRef:\n",
                      "    name: ", target, "\n  minReplicaCount: ", min_replicas,
                      "\n  triggers:\n",
                      "  - type: external\n    metadata:\n      scalerAddress: gpu-scaler:1\n",
                      "      targetValue: '70'\n      ", metadata, "\n");
}

TEST(Lint, AnotherWorkloadThatIsNamedWakes) {
  EXPECT_THAT(RulesIn(Scaling("llm", 0, "workload: llm")), ElementsAre("6 nothing-wakes"));
  EXPECT_THAT(RulesIn(Scaling("llm", 0, "workload: gateway")), ElementsAre("12 load-of-another"));
  const Finding note = FindingsIn(Scaling("llm", 0, "workload: gateway")).at(0);
  EXPECT_EQ(note.severity, Finding::Severity::kNote);
  EXPECT_THAT(note.message, HasSubstr("scales Deployment/llm on the load of gateway"));
}

TEST(Lint, WhoGoesToZeroUnderAnotherNameSaysWhoseGpusCount) {
  EXPECT_THAT(RulesIn(Scaling("vllm", 0) + kCron), ElementsAre("8 woken-by-others"));
  EXPECT_THAT(FindingsIn(Scaling("vllm", 0) + kCron).at(0).message,
              HasSubstr("add workload: vllm to the metadata"));
  EXPECT_THAT(RulesIn(Scaling("vllm", 0, "workload: vllm") + kCron), IsEmpty());
  EXPECT_THAT(RulesIn(Scaling("vllm", 0, "podRegex: vllm-.*") + kCron), IsEmpty());
  EXPECT_THAT(RulesIn(Scaling("vllm", 0, "scope: node") + kCron), IsEmpty());
  EXPECT_THAT(RulesIn(Scaling("vllm", 1) + kCron), IsEmpty());
  EXPECT_THAT(RulesIn(Scaling("llm", 0) + kCron), IsEmpty()) << "named alike";
}

TEST(Lint, TriggersOfOthersAreLeftAloneButNoted) {
  EXPECT_THAT(RulesIn(R"(
kind: ScaledObject
metadata: {name: other}
spec:
  fallback: {replicas: 3}
  triggers:
  - {type: external, metadata: {scalerAddress: "weather:80", targetValue: 5, city: Ulm}}
  - {type: prometheus, metadata: {metricType: nonsense, threshold: 5}}
)"),
              ElementsAre("7 not-checked"));
  for (const char* key : {"profile", "aggregation", "metricType", "windowAggregation"}) {
    EXPECT_THAT(
        RulesIn(absl::StrCat("kind: ScaledObject\nmetadata: {name: other}\nspec:\n  triggers:\n",
                             "  - {type: external, metadata: {scalerAddress: 'weather:80', ", key,
                             ": hourly, city: Ulm}}\n")),
        ElementsAre("5 not-checked"))
        << key;
  }
  EXPECT_THAT(RulesIn(R"(
kind: ScaledObject
metadata: {name: other}
spec:
  triggers:
  - type: external
    metadata: {scalerAddress: "weather:80", profile: alpine, metricType: wind, aggregation: hourly}
)"),
              ElementsAre("7 not-checked"));
  EXPECT_THAT(RulesIn("kind: Deployment\nmetadata: {name: x}\nspec: {minReplicaCount: 0}\n"),
              IsEmpty());
}

std::string WithAddress(const std::string& address) {
  return absl::StrCat("kind: ScaledObject\nmetadata: {name: llm}\nspec:\n  triggers:\n",
                      "  - {type: external-push, metadata: {scalerAddress: '", address,
                      "', targetValue: '0'}}\n");
}

TEST(Lint, ANoteSaysHowOursAreKnownAndHowToSaySo) {
  const std::vector<Finding> findings = FindingsIn(WithAddress("weather.ns.svc:80"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Finding::Severity::kNote);
  EXPECT_EQ(findings[0].object, "ScaledObject llm, trigger 0");
  EXPECT_THAT(findings[0].message, HasSubstr("not checked: \"weather.ns.svc\" is not known to be"));
  EXPECT_THAT(findings[0].message, HasSubstr("\"gpu-scaler\" in the host's name"));
  EXPECT_THAT(findings[0].message, HasSubstr("name it with --scaler-address"));
  EXPECT_THAT(FindingsIn("kind: ScaledObject\nspec: {triggers: [{type: external}]}").at(0).message,
              HasSubstr("not checked: it has no scalerAddress"));
}

TEST(Lint, HostsThatAreNamedAreOurs) {
  const auto rule = [](const std::string& address) {
    const auto findings = Lint(WithAddress(address), BuiltInProfiles(),
                               {.our_hosts = {"scaler", "gpus.example.com"}});
    return findings.ok() && !findings->empty() ? findings->back().rule : "";
  };
  for (const char* address :
       {"scaler", "scaler:6000", "scaler.keda:6000", "dns:///scaler.keda.svc.cluster.local:6000",
        "gpus.example.com:443", "keda-gpu-scaler.gpu-scaler.svc:6000", "my-gpu-scaler:6000"}) {
    EXPECT_EQ(rule(address), "bad-metadata") << address;
  }
  for (const char* address :
       {"scaler2:6000", "other-scaler:6000", "gpus.example.co:443", "", ":6"}) {
    EXPECT_EQ(rule(address), "not-checked") << address;
  }
}

TEST(Lint, ATriggerOfOursIsKnownByItsKeysToo) {
  EXPECT_THAT(RulesIn(R"(
kind: ScaledObject
metadata: {name: llm}
spec:
  minReplicaCount: 1
  triggers:
  - type: external
    metadata: {profileFromEnv: PROFILE, gpuindex: "0"}
)"),
              ElementsAre("7 no-scaler-address", "8 bad-metadata"));
  EXPECT_THAT(RulesIn(R"(
kind: ScaledObject
metadata: {name: llm}
spec:
  minReplicaCount: 1
  triggers:
  - type: external
    metadata: {scalerAddress: "scaler:6000", warmupSeconds: "60", gpuIndex: "x"}
)"),
              ElementsAre("8 bad-metadata"));
}

TEST(Lint, AFromEnvKeyIsJudgedByItsNameAlone) {
  EXPECT_THAT(RulesIn(WithMetadata("targetValueFromEnv: TARGET\nwindow: 0s")), IsEmpty());
  EXPECT_THAT(RulesIn(WithMetadata("targetvalueFromEnv: TARGET")), ElementsAre("11 bad-metadata"));
  EXPECT_THAT(RulesIn(WithMetadata("windowFromEnv: WINDOW\nwindow: 0s")),
              ElementsAre("12 window-zero"));
}

TEST(Lint, ReadsEveryDocumentScaledJobsAndLists) {
  const std::vector<Finding> findings = FindingsIn(R"(# two documents
apiVersion: v1
kind: ConfigMap
---
kind: ScaledJob
metadata: {name: train, namespace: ml}
spec:
  jobTargetRef: {template: {}}
  minReplicaCount: 1
  cooldownPeriod: 1
  triggers:
  - type: external
    metadata:
      scalerAddress: gpu-scaler:6000
      scope: cluster
---
kind: List
items:
- kind: ScaledObject
  metadata: {name: a}
  spec:
    minReplicaCount: 1
    triggers:
    - {type: external, metadata: {scalerAddress: "gpu-scaler:6000", gpuIndex: "x"}}
)");
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].object, "ScaledJob ml/train, trigger 0");
  EXPECT_EQ(findings[0].line, 15);
  EXPECT_EQ(findings[1].object, "ScaledObject a, trigger 0");
  EXPECT_EQ(findings[1].line, 24);
}

TEST(Lint, MergedMetadataIsReadAsKubernetesReadsIt) {
  EXPECT_THAT(RulesIn(R"(
kind: ScaledObject
metadata: {name: llm}
spec:
  minReplicaCount: 1
  triggers:
  - type: external
    metadata: &base
      scalerAddress: gpu-scaler:6000
      aggregation: sum
  - type: external
    metadata:
      <<: *base
      aggregation: max
)"),
              ElementsAre("10 sum-of-percentages"));
}

TEST(Lint, WhatIsNotYamlIsNamedByItsLine) {
  const absl::Status status = Lint("kind: A\nspec: {a: [1\n", BuiltInProfiles()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("line "));
}

TEST(Lint, OddManifestsAreSurvived) {
  for (const char* yaml : {
           "",
           "42",
           "[]",
           "kind: ScaledObject",
           "kind: [ScaledObject]",
           "kind: ScaledObject\nspec: 5",
           "kind: ScaledObject\nspec: {triggers: 5}",
           "kind: ScaledObject\nspec: {triggers: [5, [], {}, {type: []}]}",
           "kind: ScaledObject\nspec: {triggers: [{type: external, metadata: 5}]}",
           "kind: ScaledObject\nspec: {triggers: [{type: external, metadata: {[a]: b, c: [d]}}]}",
           "kind: List\nitems: 5",
           "kind: List\nitems: [5, {kind: List}]",
           "kind: ScaledObject\nspec: &a {triggers: [*a]}",
           "kind: ScaledObject\nspec: {triggers: [{type: external, metadata: &m {<<: *m}}]}",
       }) {
    EXPECT_TRUE(Lint(yaml, BuiltInProfiles()).ok()) << yaml;
  }
  EXPECT_FALSE(Lint(std::string(100000, '['), BuiltInProfiles()).ok());
}

// A file that is cut, mistyped or no manifest at all must end, with or without findings.
TEST(LintProperty, BrokenManifestsComeToAnEnd) {
  const std::string sound = WithSpec("minReplicaCount: 0\nfallback: {replicas: 3}") +
                            "---\nkind: ScaledJob\nspec: &a {triggers: [*a, \"x\"]}\n";
  constexpr const char* kTokens[] = {"&a ", "*a", "[", "]",  "{",     "}",     ": ",   "- ", "\n",
                                     "'",   "\"", "|", "? ", "---\n", "...\n", "<<: ", "\t", ", "};
  std::mt19937 random(7);
  const auto below = [&](size_t limit) { return static_cast<size_t>(random()) % limit; };
  int accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string yaml = sound;
    for (size_t changes = 1 + below(8); changes > 0; --changes) {
      const size_t at = below(yaml.size());
      if (below(2) == 0) yaml.erase(at, below(12));
      yaml.insert(std::min(at, yaml.size()), kTokens[below(std::size(kTokens))]);
    }
    accepted += Lint(yaml, BuiltInProfiles()).ok() ? 1 : 0;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_TRUE(Lint(", a: b}\n", BuiltInProfiles()).ok());
}

TEST(Lint, FindingsComeInTheOrderOfTheFile) {
  const std::vector<Finding> findings =
      FindingsIn(WithMetadata("window: 0s\naggregation: sum\nreplicaAggregation: max\n"
                              "targetValue: '90'"));
  ASSERT_EQ(findings.size(), 3u);
  for (size_t i = 1; i < findings.size(); ++i) EXPECT_LT(findings[i - 1].line, findings[i].line);
}

TEST(LintRules, HaveStableDistinctIdsAndHelp) {
  std::vector<std::string> ids;
  for (const LintRule& rule : LintRules()) {
    ids.push_back(std::string(rule.id));
    EXPECT_FALSE(rule.help.empty()) << rule.id;
  }
  EXPECT_THAT(
      ids, ElementsAre("bad-metadata", "metadata-not-a-string", "no-scaler-address",
                       "endpoint-not-allowed", "not-checked", "metric-type-mismatch",
                       "percent-target-high", "target-of-another-metric", "activation-above-target",
                       "replica-aggregation-max", "window-peak", "window-zero",
                       "sum-of-percentages", "saturation-unknown", "never-answers",
                       "literal-memory", "pod-regex-of-all", "stream-length", "secret-in-metadata",
                       "value-of-a-total", "rate-without-window", "pressure-without-limit",
                       "counter-as-gauge", "one-address", "service-not-headless", "nothing-wakes",
                       "woken-by-others", "load-of-another", "never-sleeps", "cooldown-short",
                       "fallback-wakes", "fallback-shrinks", "service-not-seen"));
}

}  // namespace
}  // namespace gpuscaler
