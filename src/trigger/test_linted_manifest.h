// Manifests and their findings, for tests.
//
//   RulesIn(WithMetadata("window: 0s"))  // {"11 window-zero"}
#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "trigger/lint.h"

namespace gpuscaler {

// Returns a sound ScaledObject with these lines of metadata from line 11 on.
inline std::string WithMetadata(const std::string& lines) {
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

// A ScaledObject with `lines` at the start of its spec, from line 5 on, and one sound
// trigger of this scaler.
inline std::string WithSpec(const std::string& lines) {
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

// A trigger of KEDA's own that wakes the workload.
constexpr char kCron[] = "  - type: cron\n    metadata: {start: 0 8 * * *}\n";

inline std::vector<Finding> FindingsIn(const std::string& yaml) {
  const auto file = ReadManifestFile(yaml);
  EXPECT_TRUE(file.ok()) << yaml << file.status();
  return file.ok() ? Lint(*file, BuiltInProfiles()) : std::vector<Finding>();
}

// Returns "line rule" of each finding.
inline std::vector<std::string> RulesIn(const std::string& yaml) {
  std::vector<std::string> rules;
  for (const Finding& finding : FindingsIn(yaml)) {
    rules.push_back(absl::StrCat(finding.line, " ", finding.rule));
  }
  return rules;
}

}  // namespace gpuscaler
