#include "app/scaled_object_file.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(TriggersOfYaml, TakesEveryExternalTriggerOfEveryDocument) {
  const auto triggers = TriggersOfYaml(R"(
kind: ScaledObject
metadata: {name: llm, namespace: prod}
spec:
  minReplicaCount: 1
  maxReplicaCount: 8
  triggers:
    - type: cron
      metadata: {timezone: UTC}
    - type: external-push
      metricType: Value
      metadata:
        scalerAddress: scaler:6000
        targetValue: 80
---
kind: ConfigMap
data: {a: b}
---
kind: ScaledJob
metadata: {name: batch}
spec:
  triggers:
    - {type: external, metadata: {profile: batch}}
)");
  ASSERT_TRUE(triggers.ok()) << triggers.status();
  ASSERT_EQ(triggers->size(), 2u);
  const TriggerQuery& first = triggers->front();
  EXPECT_EQ(first.title, "ScaledObject prod/llm, trigger 1");
  EXPECT_EQ(first.ref.namespace_name, "prod");
  EXPECT_THAT(first.ref.metadata,
              ElementsAre(Pair("scalerAddress", "scaler:6000"), Pair("targetValue", "80")));
  EXPECT_EQ(first.target_type, TargetType::kValue);
  EXPECT_EQ(first.min_replicas, 1);
  EXPECT_EQ(first.max_replicas, 8);
  EXPECT_EQ(triggers->back().title, "ScaledJob default/batch, trigger 0");
  EXPECT_EQ(triggers->back().max_replicas, 100) << "KEDA's default";
}

TEST(TriggersOfYaml, TakesTriggersOfAList) {
  const auto triggers = TriggersOfYaml(R"(
apiVersion: v1
kind: List
items:
- kind: ConfigMap
- kind: ScaledObject
  metadata: {name: llm, namespace: prod}
  spec: {triggers: [{type: external, metadata: {profile: ollama}}]}
- kind: ScaledJob
  metadata: {name: batch, namespace: prod}
  spec: {triggers: [{type: cron}, {type: external, metadata: {profile: batch}}]}
)");
  ASSERT_TRUE(triggers.ok()) << triggers.status();
  ASSERT_EQ(triggers->size(), 2u);
  EXPECT_EQ(triggers->front().title, "ScaledObject prod/llm, trigger 0");
  EXPECT_EQ(triggers->back().title, "ScaledJob prod/batch, trigger 1");
  EXPECT_THAT(triggers->back().ref.metadata, ElementsAre(Pair("profile", "batch")));
}

TEST(TriggersOfYaml, LeavesOutKeysThatOnlyKedaResolves) {
  const auto triggers = TriggersOfYaml(
      "kind: ScaledObject\n"
      "spec: {triggers: [{type: external, metadata: {windowFromEnv: WINDOW, profile: batch}}]}");
  ASSERT_TRUE(triggers.ok()) << triggers.status();
  EXPECT_THAT(triggers->front().ref.metadata, ElementsAre(Pair("profile", "batch")));
  EXPECT_THAT(triggers->front().left_out, ElementsAre("windowFromEnv"));
}

TEST(TriggersOfYaml, AnErrorHasItsLine) {
  for (const char* yaml : {", a: b}", "a: 1\n---\n, a: b}"}) {
    EXPECT_EQ(TriggersOfYaml(yaml).status().code(), absl::StatusCode::kInvalidArgument) << yaml;
  }
  EXPECT_THAT(std::string(TriggersOfYaml("a: b\n---\na: ]\n").status().message()),
              HasSubstr("line 3:"));
}

TEST(TriggersOfYaml, AFileWithoutAnExternalTriggerIsAnError) {
  for (const char* yaml : {"", "a: b", "[1, 2]", "kind: Job\nspec: {triggers: [{type: external}]}",
                           "kind: ScaledObject\nspec: {triggers: [{type: cron}, 7]}"}) {
    EXPECT_EQ(TriggersOfYaml(yaml).status().code(), absl::StatusCode::kInvalidArgument) << yaml;
  }
  EXPECT_THAT(std::string(TriggersOfYaml("a: [\n").status().message()), HasSubstr("line "));
}

}  // namespace
}  // namespace gpuscaler
