#include "trigger/lint.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trigger/test_linted_manifest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Lint, ASoundManifestHasNoFindings) {
  EXPECT_THAT(RulesIn(WithMetadata("")), IsEmpty());
  EXPECT_THAT(RulesIn(WithMetadata("profile: triton-inference\naggregation: avg")), IsEmpty());
  EXPECT_THAT(RulesIn(WithMetadata("profile: distributed-training")), IsEmpty());
  EXPECT_THAT(RulesIn(WithSpec("minReplicaCount: 0") + kCron), IsEmpty());
}

TEST(Lint, EveryMetadataFaultIsAnErrorOnItsLine) {
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

TEST(Lint, AFileWithNothingToCheckGetsANote) {
  const std::string deployment =
      "kind: Deployment\nmetadata: {name: x}\nspec: {minReplicaCount: 0}\n";
  const std::vector<Finding> findings = FindingsIn(deployment);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "nothing-to-check");
  EXPECT_EQ(findings[0].severity, Finding::Severity::kNote);
  EXPECT_EQ(findings[0].object, "the file");
  EXPECT_THAT(findings[0].message, HasSubstr("no ScaledObject or ScaledJob"));
  EXPECT_THAT(Lint(*ReadManifestFile(deployment), BuiltInProfiles(), {.has_objects_beside = true}),
              IsEmpty())
      << "another file has one";
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
      ids,
      ElementsAre("bad-metadata", "metadata-not-a-string", "no-scaler-address", "scaler-address",
                  "agents-address", "endpoint-not-allowed", "not-checked", "nothing-to-check",
                  "metric-type-mismatch", "percent-target-high", "target-of-another-metric",
                  "target-of-one-gpu", "activation-above-target", "replica-aggregation-max",
                  "window-peak", "window-zero", "sum-of-percentages", "saturation-unknown",
                  "never-answers", "literal-memory", "pod-regex-of-all", "stream-length",
                  "engine-not-named", "secret-in-metadata", "value-of-a-total",
                  "rate-without-window", "pressure-without-limit", "time-per-token-unbounded",
                  "batch-limit-not-given", "first-tokens-not-exported", "tensorrt-llm-needed",
                  "counter-as-gauge", "one-address", "service-not-headless", "headless-port",
                  "nothing-wakes", "never-sleeps", "cooldown-short", "fallback-wakes",
                  "fallback-shrinks", "workload-guessed", "load-of-another",
                  "workload-of-another-kind", "workload-kind-alike", "workload-kind-mistyped",
                  "workload-kind-unknown", "requests-target-high", "target-cycles",
                  "queue-or-latency-alone", "engine-without-profile", "max-concurrency-above-flag",
                  "max-concurrency-below-flag", "held-beside-demand", "formula-unknown-trigger",
                  "formula-never-wakes", "service-not-seen"));
}

}  // namespace
}  // namespace gpuscaler
