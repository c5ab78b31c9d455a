// Lint has no table of engines. Its lists of engines and metrics must match the table.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/reported_metrics.h"
#include "gtest/gtest.h"
#include "trigger/lint.h"
#include "trigger/metric_type.h"

namespace gpuscaler {
namespace {

bool IsNamed(absl::string_view rule, absl::string_view engine, absl::string_view metric_type) {
  const auto file = ReadManifestFile(absl::StrCat(
      "kind: ScaledObject\nmetadata: {name: llm}\nspec:\n  scaleTargetRef: {name: llm}\n"
      "  triggers:\n  - type: external\n    metadata:\n"
      "      scalerAddress: gpu-scaler:6000\n      targetValue: '80'\n"
      "      engineEndpoint: http://llm:8002\n      engine: ",
      engine, "\n      maxConcurrency: '8'\n      metricType: ", metric_type, "\n"));
  EXPECT_TRUE(file.ok()) << file.status();
  if (!file.ok()) return false;
  return std::ranges::any_of(Lint(*file, BuiltInProfiles()),
                             [rule](const Finding& finding) { return finding.rule == rule; });
}

TEST(EngineLint, NamesTheMetricsThatNeedTensorRtLlm) {
  for (const MetricTypeInfo& info : MetricTypes()) {
    if (info.origin != MetricOrigin::kEngine || !info.engine.empty()) continue;
    EXPECT_EQ(IsNamed("tensorrt-llm-needed", "triton", info.name),
              !BackendFor(Triton(), info.engine_metric).empty())
        << info.name;
  }
}

TEST(EngineLint, NotesAMissingTpotSloMsForEnginesWithDemand) {
  for (const Engine* const engine : Engines()) {
    EXPECT_EQ(IsNamed("time-per-token-unbounded", engine->name, "engine_pressure"),
              CanReport(*engine, EngineMetric::kDemand))
        << engine->name;
  }
}

TEST(EngineLint, WarnsOfPressureTargetsThatCycleForEnginesWithoutDemand) {
  for (const Engine* const engine : Engines()) {
    EXPECT_EQ(IsNamed("target-cycles", engine->name, "engine_pressure"),
              CanReport(*engine, EngineMetric::kPressurePercent) &&
                  !CanReport(*engine, EngineMetric::kDemand))
        << engine->name;
  }
}

}  // namespace
}  // namespace gpuscaler
