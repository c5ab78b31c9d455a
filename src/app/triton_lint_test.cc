// Lint and the engines' table name the same metrics that Triton exports only with a backend.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/reported_metrics.h"
#include "gtest/gtest.h"
#include "lint/lint.h"
#include "trigger/metric_type.h"

namespace gpuscaler {
namespace {

TEST(TritonLint, NamesTheMetricsThatNeedTensorRtLlm) {
  for (const MetricTypeInfo& info : MetricTypes()) {
    if (info.origin != MetricOrigin::kEngine || !info.engine.empty()) continue;
    const auto file = ReadManifestFile(absl::StrCat(
        "kind: ScaledObject\nmetadata: {name: llm}\nspec:\n  scaleTargetRef: {name: llm}\n"
        "  triggers:\n  - type: external\n    metadata:\n"
        "      scalerAddress: gpu-scaler:6000\n      targetValue: '80'\n"
        "      engineEndpoint: http://llm:8002\n      engine: triton\n      maxConcurrency: '8'\n"
        "      metricType: ",
        info.name, "\n"));
    ASSERT_TRUE(file.ok()) << file.status();
    const std::vector<Finding> findings = Lint(*file, BuiltInProfiles());
    const bool is_named = std::ranges::any_of(
        findings, [](const Finding& finding) { return finding.rule == "tensorrt-llm-needed"; });
    EXPECT_EQ(is_named, !BackendFor(Triton(), info.engine_metric).empty()) << info.name;
  }
}

}  // namespace
}  // namespace gpuscaler
