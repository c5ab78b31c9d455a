#include "serve/trigger_metrics.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/metric_family.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kTriggerDecidedAt = absl::FromUnixSeconds(1'767'225'600);
const DemandLabels kChatTrigger{.namespace_name = "team-a", .scaled_object = "chat", .metric = "m"};
constexpr absl::string_view kChatSeries = R"({namespace="team-a",scaledobject="chat",metric="m"} )";

Decision OfReplicas(int replicas, double value = 80) {
  Decision decision;
  decision.taken_at = kTriggerDecidedAt;
  decision.replicas = replicas;
  decision.value = value;
  return decision;
}

std::string TriggerText(const TriggerMetrics& metrics,
                        absl::Duration later = absl::ZeroDuration()) {
  return MetricsText(metrics.Families(kTriggerDecidedAt + later));
}

TEST(TriggerMetrics, HaveTheValueAndTheReplicas) {
  TriggerMetrics metrics;
  EXPECT_TRUE(metrics.Families(kTriggerDecidedAt).empty());
  Decision decision = OfReplicas(2, 150.5);
  decision.warming = 1;
  metrics.Update(kChatTrigger, decision);
  const std::string text = TriggerText(metrics);
  EXPECT_THAT(text, HasSubstr(absl::StrCat("keda_gpu_scaler_trigger_value", kChatSeries, "150.5")));
  EXPECT_THAT(text, HasSubstr(absl::StrCat("keda_gpu_scaler_trigger_replicas", kChatSeries, "3")));
}

TEST(TriggerMetrics, CountChangesOfDirectionOnly) {
  TriggerMetrics metrics;
  const struct {
    int replicas;
    int want;
  } kSteps[] = {{2, 0}, {4, 0}, {6, 0}, {6, 0}, {5, 1}, {3, 1}, {4, 2}, {0, 3}};
  for (const auto& step : kSteps) {
    metrics.Update(kChatTrigger, OfReplicas(step.replicas));
    EXPECT_THAT(TriggerText(metrics),
                HasSubstr(absl::StrCat("direction_changes_total", kChatSeries, step.want, "\n")))
        << step.replicas;
  }
}

TEST(TriggerMetrics, AnErrorKeepsTheLastValue) {
  TriggerMetrics metrics;
  metrics.Update(kChatTrigger, OfReplicas(2));
  Decision failed = OfReplicas(0, 0);
  failed.status = absl::UnavailableError("nothing is readable");
  metrics.Update(kChatTrigger, failed);
  EXPECT_THAT(TriggerText(metrics),
              HasSubstr(absl::StrCat("keda_gpu_scaler_trigger_replicas", kChatSeries, "2")));
}

TEST(TriggerMetrics, ATriggerThatIsNotRequestedHasNoSeriesAfterAWhile) {
  TriggerMetrics metrics;
  metrics.Update(kChatTrigger, OfReplicas(2));
  EXPECT_THAT(TriggerText(metrics, absl::Minutes(15)), HasSubstr("trigger_value"));
  EXPECT_THAT(TriggerText(metrics, absl::Minutes(16)), Not(HasSubstr("trigger_value")));
}

}  // namespace
}  // namespace gpuscaler
