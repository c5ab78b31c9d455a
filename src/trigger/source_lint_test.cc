#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trigger/lint.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A ScaledObject that is sound except for these lines of its metadata.
std::string DemandManifest(const std::string& lines, int min_replicas = 1) {
  std::string yaml = absl::StrCat(
      "kind: ScaledObject\nmetadata: {name: llm}\nspec:\n  scaleTargetRef: {name: llm}\n"
      "  minReplicaCount: ",
      min_replicas, "\n  triggers:\n  - type: external\n    metadata:\n",
      "      scalerAddress: gpu-scaler:6000\n");
  for (absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&yaml, "      ", line, "\n");
  }
  return yaml;
}

std::vector<Finding> DemandFindingsOf(const std::string& lines, const LintContext& context = {},
                                      int min_replicas = 1) {
  const auto file = ReadManifestFile(DemandManifest(lines, min_replicas));
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? Lint(*file, BuiltInProfiles(), context) : std::vector<Finding>();
}

std::vector<std::string> DemandFindings(const std::string& lines, int min_replicas = 1) {
  std::vector<std::string> rules;
  for (const Finding& finding : DemandFindingsOf(lines, {}, min_replicas)) {
    rules.push_back(finding.rule);
  }
  return rules;
}

constexpr char kLag[] =
    "metricType: redis_stream_lag\nredisAddress: redis:6379\nredisStream: jobs\n"
    "redisConsumerGroup: work\njobsPerReplica: '5'\n";

// The host belongs to no Service, so no Service is reported as missing.
constexpr char kDemandEngine[] = "engineEndpoint: http://llm.example.com:8000\n";

constexpr char kOfRequests[] = "profile: vllm-requests\nmaxConcurrency: '256'\n";

TEST(SourceLint, ASoundTriggerOnDemandHasNoFindingsAndWakes) {
  EXPECT_THAT(DemandFindings(kLag, 0), IsEmpty());
  EXPECT_THAT(DemandFindings(absl::StrCat(kDemandEngine, kOfRequests)), IsEmpty());
  EXPECT_THAT(DemandFindings("profile: vllm-inference\nmaxConcurrency: '64'\n"
                             "tpotSloMs: '30'\nengineEndpoint: http://llm:8000"),
              ElementsAre("service-not-seen"))
      << "a note: what the name leads to is in no file";
  EXPECT_THAT(DemandFindings(absl::StrCat(kDemandEngine, kOfRequests), 0),
              ElementsAre("nothing-wakes"))
      << "at zero replicas there is no engine";
}

TEST(SourceLint, AnUnnamedEngineNeedsDiscovery) {
  const std::vector<Finding> findings = DemandFindingsOf(kOfRequests);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "engine-not-named");
  EXPECT_EQ(findings[0].severity, Finding::Severity::kWarning);
  EXPECT_EQ(findings[0].line, 10);
  EXPECT_THAT(findings[0].message, HasSubstr("requests_in_flight is an engine's"));
  EXPECT_THAT(findings[0].message, HasSubstr("engineEndpoint: http://NAME:PORT"));
  EXPECT_THAT(findings[0].message, HasSubstr("agent.discoverEngines=true"));
  for (const char* metadata : {"profile: vllm-requests", "profile: vllm-inference",
                               "profile: vllm-inference\nengineFallback: none"}) {
    const std::string limited =
        absl::StrCat(metadata, "\nmaxConcurrency: '256'",
                     absl::StrContains(metadata, "inference") ? "\ntpotSloMs: '30'" : "");
    EXPECT_THAT(DemandFindingsOf(limited, {.finds_engines = true}), IsEmpty()) << metadata;
  }
}

TEST(SourceLint, RulesFire) {
  const std::string stream = "redisAddress: redis:6379\nredisStream: jobs\ntargetValue: '5'\n";
  EXPECT_THAT(DemandFindings(absl::StrCat(stream, "metricType: redis_stream_length")),
              ElementsAre("stream-length"));
  EXPECT_THAT(DemandFindings(absl::StrCat(kLag, "redisPassword: hunter2")),
              ElementsAre("secret-in-metadata"));
  EXPECT_THAT(DemandFindings(absl::StrCat(kLag, "redisPasswordFromEnv: REDIS_PASSWORD")),
              IsEmpty());
  EXPECT_THAT(DemandFindings(absl::StrCat(kDemandEngine,
                                          "metricType: ttft_ms\ntargetValue: '500'\nwindow: 0s")),
              ElementsAre("queue-or-latency-alone", "rate-without-window"));
  EXPECT_THAT(
      DemandFindings(absl::StrCat(kDemandEngine, "metricType: engine_pressure\ntargetValue: '50'")),
      ElementsAre("pressure-without-limit"));
  EXPECT_THAT(
      DemandFindings(absl::StrCat(
          kDemandEngine, "metricType: engine_pressure\ntargetValue: '50'\ntpotSloMs: '30'")),
      ElementsAre("batch-limit-not-given"));
  const std::string triton = absl::StrCat(kDemandEngine, "engine: triton\ntargetValue: '8'\n");
  EXPECT_THAT(DemandFindings(absl::StrCat(triton, "metricType: requests_running")),
              ElementsAre("tensorrt-llm-needed"));
  EXPECT_THAT(DemandFindings(absl::StrCat(triton, "metricType: requests_waiting")),
              ElementsAre("queue-or-latency-alone"));
  EXPECT_THAT(DemandFindings(absl::StrCat(
                  kDemandEngine, "engine: triton\nprofile: vllm-inference\ntargetValue: '50'")),
              ElementsAre("tensorrt-llm-needed"))
      << "its pressure";
  for (const char* engine : {"tgi", "vllm"}) {
    const std::string late =
        absl::StrCat(kDemandEngine, "profile: vllm-inference\nengine: ", engine,
                     "\nmaxConcurrency: '64'\ntpotSloMs: '30'\nttftSloMs: '500'");
    if (absl::string_view(engine) == "vllm") {
      EXPECT_THAT(DemandFindings(late), IsEmpty());
    } else {
      EXPECT_THAT(DemandFindings(late), ElementsAre("first-tokens-not-exported"));
    }
  }
  const std::string page =
      "metricType: prometheus\ntargetValue: '5'\nprometheusEndpoint: http://gateway:9090/\n";
  EXPECT_THAT(DemandFindings(absl::StrCat(page, "prometheusMetric: 'done_total{pool=\"a\"}'")),
              ElementsAre("counter-as-gauge"));
  EXPECT_THAT(
      DemandFindings(absl::StrCat(page, "prometheusMetric: done_total\n", "prometheusKind: rate")),
      IsEmpty());
  EXPECT_THAT(DemandFindings(absl::StrCat(page, "prometheusMetric: waiting")), IsEmpty());
  for (const char* url : {"http://10.1.0.7:8000/metrics", "http://[fd00::1]:8000"}) {
    EXPECT_THAT(DemandFindings(absl::StrCat(kOfRequests, "engineEndpoint: ", url)),
                ElementsAre("one-address"))
        << url;
  }
  EXPECT_THAT(DemandFindings(absl::StrCat(kLag, "targetType: Value")),
              ElementsAre("metric-type-mismatch", "value-of-a-total"));
  EXPECT_THAT(DemandFindings("metricType: pending_ratio\ntargetValue: '1'"),
              ElementsAre("bad-metadata"));
}

TEST(SourceLint, NoFindingShowsASecret) {
  const std::vector<Finding> findings =
      DemandFindingsOf(absl::StrCat(kLag, "redisPassword: hunter2\nbearerToken: hunter2"));
  EXPECT_FALSE(findings.empty());
  for (const Finding& finding : findings) {
    EXPECT_THAT(finding.message, testing::Not(HasSubstr("hunter2")));
  }
}

}  // namespace
}  // namespace gpuscaler
