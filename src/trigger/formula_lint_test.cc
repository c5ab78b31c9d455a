// Rules on formulas over triggers.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trigger/test_linted_manifest.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kQueueAndGpu[] = R"(  - name: queue
    type: external
    metadata:
      scalerAddress: gpu-scaler:6000
      metricType: redis_list_length
      redisAddress: redis:6379
      redisList: jobs
      jobsPerReplica: '5'
  - name: gpu
    type: external
    metadata: {scalerAddress: 'gpu-scaler:6000', targetValue: '80'}
)";

// A ScaledObject with its formula on line 5.
std::string WithFormula(const std::string& formula, int min_replicas) {
  return absl::StrCat("kind: ScaledObject\nmetadata: {name: llm}\nspec:\n  advanced:\n",
                      "    scalingModifiers: {target: '1', formula: '", formula,
                      "'}\n  scaleTargetRef: {name: llm}\n  minReplicaCount: ", min_replicas,
                      "\n  triggers:\n", kQueueAndGpu);
}

TEST(FormulaLint, AnUnknownTriggerNameIsAnError) {
  EXPECT_THAT(RulesIn(WithFormula("min(queue / 5, gpu / 80)", 1)), IsEmpty());
  const auto findings = FindingsIn(WithFormula("max(queue / 5, gpus / 80)", 1));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "formula-unknown-trigger");
  EXPECT_EQ(findings[0].severity, Finding::Severity::kError);
  EXPECT_EQ(findings[0].line, 5);
  EXPECT_THAT(findings[0].message, HasSubstr("the formula names \"gpus\""));
  EXPECT_THAT(findings[0].message, HasSubstr("called queue or gpu"));
  EXPECT_THAT(findings[0].message, HasSubstr("did you mean \"gpu\"?"));
}

TEST(FormulaLint, AMinOverReplicasNeverWakesFromZero) {
  const auto findings = FindingsIn(WithFormula("min(queue / 5, gpu / 80)", 0));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "formula-never-wakes");
  EXPECT_EQ(findings[0].severity, Finding::Severity::kWarning);
  EXPECT_EQ(findings[0].line, 5);
  EXPECT_THAT(findings[0].message, HasSubstr("\"gpu\" (gpu_utilization)"));
  EXPECT_THAT(RulesIn(WithFormula("max(queue / 5, gpu / 80)", 0)), IsEmpty());
  EXPECT_THAT(RulesIn(WithFormula("min(queue / 5, 3)", 0)), IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
