#include "trigger/manifest_file.h"

#include <algorithm>
#include <iterator>
#include <random>
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

TEST(ManifestFile, ReadsEveryDocumentScaledJobsAndLists) {
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

TEST(ManifestFile, MergedMetadataIsReadAsByKubernetes) {
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

TEST(ManifestFile, AMisspelledKindIsNoted) {
  for (const char* kind : {"Scaledobject", "scaledObject", "ScaleObject", "ScaledObjects"}) {
    const std::vector<Finding> findings = FindingsIn(absl::StrCat(
        "a: b\n---\nkind: ", kind, "\nmetadata: {name: llm}\n---\n", WithMetadata("")));
    ASSERT_EQ(findings.size(), 1u) << kind;
    EXPECT_EQ(findings[0].line, 3) << kind;
    EXPECT_THAT(findings[0].message, HasSubstr("did you mean \"ScaledObject\"?")) << kind;
  }
  EXPECT_THAT(FindingsIn("kind: Scaledjob").at(0).message,
              HasSubstr("did you mean \"ScaledJob\"?"));
  EXPECT_THAT(FindingsIn("apiVersion: http.keda.sh/v1alpha1\nkind: HTTPScaledObject").at(0).message,
              HasSubstr("no ScaledObject or ScaledJob"))
      << "somebody else's";
}

TEST(ManifestFile, AYamlErrorHasItsLine) {
  const absl::Status status = ReadManifestFile("kind: A\nspec: {a: [1\n").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("line "));
}

TEST(ManifestFile, OddManifestsDoNotCrash) {
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
    FindingsIn(yaml);
  }
  EXPECT_FALSE(ReadManifestFile(std::string(100000, '[')).ok());
}

// Truncated, mistyped or wrong files must not crash or hang lint.
TEST(ManifestFileProperty, BrokenManifestsDoNotHang) {
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
    const auto file = ReadManifestFile(yaml);
    if (!file.ok()) continue;
    Lint(*file, BuiltInProfiles());
    ++accepted;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_TRUE(ReadManifestFile(", a: b}\n").ok());
}

}  // namespace
}  // namespace gpuscaler
