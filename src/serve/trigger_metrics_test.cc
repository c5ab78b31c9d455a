#include "serve/trigger_metrics.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/metric_family.h"
#include "serve/metrics.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kTriggerDecidedAt = absl::FromUnixSeconds(1'767'225'600);
const TriggerLabels kChatTrigger{
    .namespace_name = "team-a", .scaled_object = "chat", .metric = "m"};
constexpr absl::string_view kChatSeries = R"({namespace="team-a",scaledobject="chat",metric="m"} )";

Decision OfReplicas(int replicas, double value = 80) {
  Decision decision;
  decision.taken_at = kTriggerDecidedAt;
  decision.replicas = replicas;
  decision.value = value;
  return decision;
}

Decision WithDemandOf(std::optional<double> replicas) {
  Decision decision;
  decision.taken_at = kTriggerDecidedAt;
  decision.demand = Demand{.replicas = replicas, .arrivals_per_second = 28};
  if (replicas.has_value()) {
    decision.demand->capacities = {{.gpu_model = "H100", .requests_per_second = 8.5}};
  }
  decision.batch_limit = 64;
  decision.by_demand = replicas.has_value();
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
  decision.starting = 1;
  metrics.Update(kChatTrigger, decision, false);
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
    metrics.Update(kChatTrigger, OfReplicas(step.replicas), false);
    EXPECT_THAT(TriggerText(metrics),
                HasSubstr(absl::StrCat("direction_changes_total", kChatSeries, step.want, "\n")))
        << step.replicas;
  }
}

TEST(TriggerMetrics, AnErrorKeepsTheLastValue) {
  TriggerMetrics metrics;
  metrics.Update(kChatTrigger, OfReplicas(2), false);
  Decision failed = OfReplicas(0, 0);
  failed.status = absl::UnavailableError("nothing is readable");
  metrics.Update(kChatTrigger, failed, false);
  EXPECT_THAT(TriggerText(metrics),
              HasSubstr(absl::StrCat("keda_gpu_scaler_trigger_replicas", kChatSeries, "2")));
}

TEST(TriggerMetrics, ATriggerThatIsNotRequestedHasNoSeriesAfterAWhile) {
  TriggerMetrics metrics;
  metrics.Update(kChatTrigger, OfReplicas(2), false);
  EXPECT_THAT(TriggerText(metrics, absl::Minutes(15)), HasSubstr("trigger_value"));
  EXPECT_THAT(TriggerText(metrics, absl::Minutes(16)), Not(HasSubstr("trigger_value")));
}

TEST(TriggerMetrics, HaveASeriesForEachTriggerThatHasDemand) {
  TriggerMetrics metrics;
  EXPECT_TRUE(metrics.Families(kTriggerDecidedAt).empty());
  metrics.Update(kChatTrigger, WithDemandOf(3.3), true);
  const std::string text = TriggerText(metrics);
  const std::string labels = R"({namespace="team-a",scaledobject="chat",metric="m")";
  for (const char* series : {"demand_replicas", "demand_known", "demand_counts"}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("keda_gpu_scaler_", series, labels, "} ")));
  }
  EXPECT_THAT(text, HasSubstr("keda_gpu_scaler_demand_known" + labels + "} 1"));
  EXPECT_THAT(text, HasSubstr("keda_gpu_scaler_demand_arrivals_per_second" + labels + "} 28"));
  EXPECT_THAT(text, HasSubstr("keda_gpu_scaler_batch_limit_requests" + labels + "} 64"));
  EXPECT_THAT(text, HasSubstr("keda_gpu_scaler_replica_capacity_requests_per_second" + labels +
                              R"(,gpu_model="H100"} 8.5)"));
}

TEST(TriggerMetrics, UnknownCapacityHasNoReplicas) {
  TriggerMetrics metrics;
  metrics.Update(kChatTrigger, WithDemandOf(std::nullopt), true);
  const std::string text = TriggerText(metrics);
  EXPECT_THAT(text, HasSubstr(absl::StrCat("demand_known", kChatSeries, "0")));
  EXPECT_THAT(text, HasSubstr(absl::StrCat("demand_counts", kChatSeries, "0")));
  EXPECT_THAT(text, HasSubstr("set maxConcurrency or tpotSloMs"));
  EXPECT_THAT(text, Not(HasSubstr("demand_replicas{")));
}

TEST(TriggerMetrics, LateFirstTokensHaveASeriesWhileTheyNeedReplicas) {
  TriggerMetrics metrics;
  Decision decision = WithDemandOf(3.3);
  metrics.Update(kChatTrigger, decision, true);
  EXPECT_THAT(TriggerText(metrics), Not(HasSubstr("latency_replicas")));
  decision.latency = LatencyDemand{.replicas = 5, .late_share = 0.12};
  metrics.Update(kChatTrigger, decision, true);
  EXPECT_THAT(TriggerText(metrics),
              HasSubstr("keda_gpu_scaler_latency_replicas"
                        R"({namespace="team-a",scaledobject="chat",metric="m"} 5)"));
}

TEST(TriggerMetrics, ADemandIsRemovedWithTheDecisionAndAfterAWhile) {
  TriggerMetrics metrics;
  metrics.Update(kChatTrigger, WithDemandOf(3.3), true);
  EXPECT_THAT(TriggerText(metrics, absl::Minutes(15)), HasSubstr("demand_known"));
  EXPECT_EQ(TriggerText(metrics, absl::Minutes(16)), "");
  Decision without = OfReplicas(2);
  without.batch_limit = 64;
  metrics.Update(kChatTrigger, without, true);
  EXPECT_THAT(TriggerText(metrics), Not(HasSubstr("demand_known")));
  EXPECT_THAT(TriggerText(metrics), Not(HasSubstr("batch_limit")));
  EXPECT_THAT(TriggerText(metrics), HasSubstr("trigger_value"));
}

TEST(TriggerMetrics, ATriggerThatComputesNoDemandHasNoSeriesOfIt) {
  TriggerMetrics metrics;
  metrics.Update(kChatTrigger, WithDemandOf(3.3), false);
  EXPECT_THAT(TriggerText(metrics), Not(HasSubstr("demand_known")));
  EXPECT_THAT(TriggerText(metrics), HasSubstr("trigger_value"));
}

TEST(TriggerMetrics, AnErrorHasADemandButNoValue) {
  TriggerMetrics metrics;
  Decision failed = WithDemandOf(std::nullopt);
  failed.status = absl::UnavailableError("the demand is not known");
  metrics.Update(kChatTrigger, failed, true);
  EXPECT_THAT(TriggerText(metrics), HasSubstr(absl::StrCat("demand_known", kChatSeries, "0")));
  EXPECT_THAT(TriggerText(metrics), Not(HasSubstr("trigger_value")));
  metrics.Update(kChatTrigger, OfReplicas(2), true);
  failed.taken_at += absl::Minutes(16);
  metrics.Update(kChatTrigger, failed, true);
  EXPECT_THAT(TriggerText(metrics, absl::Minutes(16)), HasSubstr("demand_known"));
  EXPECT_THAT(TriggerText(metrics, absl::Minutes(16)), Not(HasSubstr("trigger_value")))
      << "the value is old, though the trigger is requested";
}

TEST(TriggerMetrics, FurtherTriggersHaveNoSeriesUntilOthersExpire) {
  TriggerMetrics metrics;
  Decision decision = OfReplicas(2);
  for (size_t i = 0; i < TriggerMetrics::kMaxTriggers; ++i) {
    metrics.Update({.namespace_name = "crowd", .scaled_object = absl::StrCat(i), .metric = "m"},
                   decision, false);
  }
  metrics.Update(kChatTrigger, decision, false);
  EXPECT_THAT(TriggerText(metrics), Not(HasSubstr("team-a")));
  decision.taken_at += absl::Minutes(16);
  metrics.Update(kChatTrigger, decision, false);
  EXPECT_THAT(TriggerText(metrics, absl::Minutes(16)), HasSubstr("team-a"));
}

TEST(TriggerMetrics, UnknownLimitIsZeroAlsoWithoutDemand) {
  TriggerMetrics metrics;
  Decision decision;
  decision.taken_at = kTriggerDecidedAt;
  decision.batch_limit_known = false;
  metrics.Update(kChatTrigger, decision, true);
  const std::string labels = R"({namespace="team-a",scaledobject="chat",metric="m")";
  EXPECT_THAT(TriggerText(metrics),
              HasSubstr("keda_gpu_scaler_batch_limit_known" + labels + "} 0"));
  EXPECT_THAT(TriggerText(metrics), HasSubstr("set maxConcurrency"));
  EXPECT_THAT(TriggerText(metrics), Not(HasSubstr("demand_known")));
  decision.batch_limit_known = true;
  decision.batch_limit = 48;
  metrics.Update(kChatTrigger, decision, true);
  EXPECT_THAT(TriggerText(metrics),
              HasSubstr("keda_gpu_scaler_batch_limit_known" + labels + "} 1"));
  EXPECT_THAT(TriggerText(metrics),
              HasSubstr("keda_gpu_scaler_batch_limit_requests" + labels + "} 48"));
}

TEST(TriggerMetrics, AreInTheMetricsOfTheProcess) {
  Metrics metrics;
  metrics.TriggerDecided(kChatTrigger, WithDemandOf(3.3), true);
  EXPECT_THAT(metrics.Page(nullptr, kTriggerDecidedAt, absl::Seconds(6)),
              HasSubstr("keda_gpu_scaler_demand_replicas{"));
}

}  // namespace
}  // namespace gpuscaler
