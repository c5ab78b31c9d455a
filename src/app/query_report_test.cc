#include "app/query_report.h"

#include "absl/strings/str_cat.h"
#include "base/test_hostile_name.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

QueryReport Report(double value, bool active) {
  QueryReport report;
  report.trigger.title = "ScaledObject default/llm";
  report.spec = MetricSpec{.metric_name = "keda_gpu_metric", .target = 80};
  report.value = value;
  report.active = active;
  return report;
}

TEST(DesiredReplicas, AreThoseOfKedaAndTheHpa) {
  struct Case {
    std::string name;
    int replicas;
    double value;
    bool active;
    TargetType type;
    std::optional<int> most;
    int want;
  };
  const TargetType average = TargetType::kAverageValue;
  const std::vector<Case> cases = {
      {"three replicas' load on two", 2, 240, true, average, {}, 3},
      {"within the tolerance", 3, 250, true, average, {}, 3},
      {"KEDA wakes a sleeper to one", 0, 0, true, average, {}, 1},
      {"KEDA leaves an inactive one asleep", 0, 500, false, average, {}, 0},
      {"the HPA never goes below one", 2, 0, false, average, {}, 1},
      {"maxReplicaCount holds", 4, 4000, true, average, 5, 5},
      {"Value is per replica", 2, 160, true, TargetType::kValue, {}, 4},
  };
  for (const Case& test : cases) {
    QueryReport report = Report(test.value, test.active);
    report.trigger.target_type = test.type;
    report.trigger.max_replicas = test.most;
    report.replicas = test.replicas;
    EXPECT_EQ(DesiredReplicas(report), test.want) << test.name;
  }
}

TEST(DesiredReplicas, AnErrorIsNotZero) {
  QueryReport report = Report(0, true);
  report.replicas = 3;
  report.value = absl::UnavailableError("no GPU snapshot yet");
  EXPECT_EQ(DesiredReplicas(report), std::nullopt);
  EXPECT_THAT(QueryText(report), HasSubstr("stays at 3: nothing is known"));
  EXPECT_THAT(QueryText(report), HasSubstr("UNAVAILABLE: no GPU snapshot yet"));
}

TEST(DesiredReplicas, AreNoneForAScaledJob) {
  QueryReport report = Report(240, true);
  report.replicas = 2;
  report.trigger.is_job = true;
  EXPECT_EQ(DesiredReplicas(report), std::nullopt);
  EXPECT_THAT(QueryText(report), HasSubstr("  jobs    KEDA starts Jobs"));
  const auto json = nlohmann::json::parse(QueryJson({report}))[0];
  EXPECT_FALSE(json.contains("desired_replicas"));
  EXPECT_FALSE(json.contains("replicas"));
}

TEST(QueryText, NamesMetricValueAndActivity) {
  const std::string text = QueryText(Report(163.5, true));
  EXPECT_THAT(text, HasSubstr("metric  keda_gpu_metric, target 80 (AverageValue)"));
  EXPECT_THAT(text, HasSubstr("value   163.5\n"));
  EXPECT_THAT(text, HasSubstr("active  yes\n"));
}

TEST(QueryReport, ListsWhatWasLeftOut) {
  QueryReport report = Report(80, true);
  EXPECT_FALSE(nlohmann::json::parse(QueryJson({report}))[0].contains("left_out"));
  report.trigger.left_out = {"windowFromEnv", "scopeFromEnv"};
  EXPECT_THAT(QueryText(report),
              HasSubstr("  without windowFromEnv, scopeFromEnv: only KEDA can resolve it\n"));
  EXPECT_EQ(nlohmann::json::parse(QueryJson({report}))[0]["left_out"][1], "scopeFromEnv");
}

TEST(IsConsistent, DetectsAnExplanationOfAnotherReply) {
  QueryReport report = Report(80, true);
  EXPECT_TRUE(IsConsistent(report)) << "none was requested";
  gpuscaler::v1::Explanation explanation;
  explanation.set_value(80);
  explanation.set_active(true);
  report.explanation = explanation;
  EXPECT_TRUE(IsConsistent(report));
  report.value = 0.0;
  EXPECT_FALSE(IsConsistent(report));
  report.value = 80.0;
  report.active = false;
  EXPECT_FALSE(IsConsistent(report));
  report.value = absl::UnavailableError("no GPU snapshot yet");
  report.active = report.value.status();
  EXPECT_FALSE(IsConsistent(report)) << "the answers came too early";
  explanation.set_code(static_cast<int>(absl::StatusCode::kUnavailable));
  report.explanation = explanation;
  EXPECT_TRUE(IsConsistent(report));
  report.explanation = absl::UnimplementedError("another scaler than this one");
  EXPECT_TRUE(IsConsistent(report)) << "nothing to compare with";
}

TEST(QueryJson, CarriesTheExplanation) {
  QueryReport report = Report(80, true);
  report.replicas = 1;
  gpuscaler::v1::Explanation explanation;
  explanation.set_replicas_from("GPUs in use");
  report.explanation = explanation;
  const auto json = nlohmann::json::parse(QueryJson({report}));
  EXPECT_EQ(json[0]["value"], 80);
  EXPECT_EQ(json[0]["desired_replicas"], 1);
  EXPECT_EQ(json[0]["spec"]["target"], 80);
  EXPECT_EQ(json[0]["explanation"]["replicas_from"], "GPUs in use");
}

TEST(QueryText, EscapesHostileNames) {
  QueryReport report = Report(80, true);
  report.trigger.title = absl::StrCat("ScaledObject default/", kHostileName);
  report.spec = absl::InvalidArgumentError(kHostileName);
  report.trigger.left_out = {kHostileName};
  EXPECT_EQ(QueryText(report), absl::StrCat("ScaledObject default/", kEscapedName,
                                            "\n  metric  INVALID_ARGUMENT: ", kEscapedName,
                                            "\n  value   80\n  active  yes\n  without ",
                                            kEscapedName, ": only KEDA can resolve it\n"));
  const auto json = nlohmann::json::parse(QueryJson({report}))[0];
  EXPECT_EQ(json["trigger"], report.trigger.title);
  EXPECT_THAT(QueryJson({report}), Not(HasSubstr("\n::")));
}

// Another scaler, or an older version, may not escape its text.
TEST(QueryText, LinesOfTheExplanationAreEscaped) {
  QueryReport report = Report(80, true);
  gpuscaler::v1::Explanation explanation;
  explanation.set_text("value: 80\n  ::error::y  counted\x1b[2J\r\n");
  report.explanation = explanation;
  EXPECT_THAT(QueryText(report), EndsWith("\n\nvalue: 80\n  \\x3a:error::y  counted\\x1b[2J\\r\n"));
}

}  // namespace
}  // namespace gpuscaler
