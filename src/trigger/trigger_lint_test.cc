// Rules on the metadata of one trigger.
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

TEST(TriggerLint, TriggerRulesFireOnTheLineOfTheirKey) {
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
           {"profile: vllm-inference\nmaxConcurrency: '64'\ntpotSloMs: '30'",
            "11 saturation-unknown"},
           {"profile: vllm-inference\nmaxConcurrency: '64'\ntpotSloMs: '30'\nengineFallback: none",
            "14 never-answers"},
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
           {"workload: StatefulSet/llm", "11 workload-of-another-kind"},
           {"workload: deploy/llm", "11 bad-metadata"},
           {"profile: distributed-training\ngpusPerReplica: '4'", "12 target-of-one-gpu"},
       }) {
    EXPECT_THAT(RulesIn(WithMetadata(row.metadata)), ElementsAre(row.want)) << row.metadata;
  }
}

TEST(TriggerLint, NamedPodsAndWorkloadsAreFine) {
  EXPECT_THAT(RulesIn(WithMetadata("podRegex: llm-.*")), IsEmpty());
  EXPECT_THAT(RulesIn(WithMetadata("workload: llm")), IsEmpty());
  EXPECT_THAT(RulesIn(WithMetadata("workload: deployment/llm")), IsEmpty());
}

TEST(TriggerLint, PeaksAndSumsAreFineForAdditiveMetrics) {
  EXPECT_THAT(RulesIn(WithMetadata("metricType: power_draw\ntargetValue: '500'\nwindow: 0s\n"
                                   "windowAggregation: max\naggregation: sum")),
              IsEmpty());
}

TEST(TriggerLint, SaturationUnknownIsNotedUntilTheUserHasDecided) {
  const std::string profile = "profile: tgi-inference\nmaxConcurrency: '64'\ntpotSloMs: '30'\n";
  const std::string message = FindingsIn(WithMetadata(profile)).at(0).message;
  EXPECT_THAT(message, HasSubstr("busy and not full"));
  EXPECT_THAT(message, HasSubstr("set engineFallback to activity, or to utilization if"));
  for (const char* decision : {"utilization", "activity"}) {
    const std::string metadata = absl::StrCat(profile, "engineFallback: ", decision);
    EXPECT_THAT(RulesIn(WithMetadata(metadata)), IsEmpty()) << decision;
  }
}

TEST(TriggerLint, TheMetricTypeOfTheTriggerAndTargetTypeMustAgree) {
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

TEST(TriggerLint, PlaceholdersAreNotChecked) {
  EXPECT_THAT(RulesIn(WithMetadata("targetValue: ${TARGET}\nwindow: 0s")), IsEmpty());
  EXPECT_THAT(RulesIn(WithMetadata("workload: $(KIND)/llm")), IsEmpty());
  EXPECT_THAT(RulesIn(WithMetadata("metricType: '{{ .metric }}'")), IsEmpty());
  EXPECT_THAT(RulesIn(WithMetadata("targetvalue: ${TARGET}")), ElementsAre("11 bad-metadata"))
      << "its name is judged";
  EXPECT_THAT(RulesIn(WithMetadata("targetValue: ${TARGET}\nwindow: soon")),
              ElementsAre("12 bad-metadata"))
      << "what the file has is judged";
  EXPECT_THAT(RulesIn(WithMetadata("podRegex: llm-.*$\nwindow: soon")),
              ElementsAre("12 bad-metadata"));
}

TEST(TriggerLint, AFromEnvKeyIsCheckedByItsNameOnly) {
  EXPECT_THAT(RulesIn(WithMetadata("targetValueFromEnv: TARGET\nwindow: 0s")), IsEmpty());
  EXPECT_THAT(RulesIn(WithMetadata("targetvalueFromEnv: TARGET")), ElementsAre("11 bad-metadata"));
  EXPECT_THAT(RulesIn(WithMetadata("windowFromEnv: WINDOW\nwindow: 0s")),
              ElementsAre("12 window-zero"));
}

}  // namespace
}  // namespace gpuscaler
