#include "serve/demand_metrics.h"

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/metric_family.h"
#include "serve/answers.h"
#include "serve/metrics.h"
#include "trigger/profile.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kDemandDecidedAt = absl::FromUnixSeconds(1'767'225'600);
const DemandLabels kOfChat{.namespace_name = "team-a", .scaled_object = "chat", .metric = "m"};

Decision WithDemandOf(std::optional<double> replicas) {
  Decision decision;
  decision.taken_at = kDemandDecidedAt;
  decision.demand = Demand{.replicas = replicas, .arrivals_per_second = 28};
  if (replicas.has_value()) {
    decision.demand->capacities = {{.gpu_model = "H100", .requests_per_second = 8.5}};
  }
  decision.batch_limit = 64;
  decision.by_demand = replicas.has_value();
  return decision;
}

std::string TextOf(const DemandMetrics& metrics, absl::Duration later = absl::ZeroDuration()) {
  return MetricsText(metrics.Families(kDemandDecidedAt + later));
}

TEST(DemandMetrics, HaveASeriesForEachTriggerThatHasDemand) {
  DemandMetrics metrics;
  EXPECT_TRUE(metrics.Families(kDemandDecidedAt).empty());
  metrics.Update(kOfChat, WithDemandOf(3.3));
  const std::string text = TextOf(metrics);
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

TEST(DemandMetrics, UnknownCapacityHasNoReplicas) {
  DemandMetrics metrics;
  metrics.Update(kOfChat, WithDemandOf(std::nullopt));
  const std::string text = TextOf(metrics);
  EXPECT_THAT(text, HasSubstr(R"(metric="m"} 0)"));
  EXPECT_THAT(text, HasSubstr("set maxConcurrency or tpotSloMs"));
  EXPECT_THAT(text, Not(HasSubstr("demand_replicas{")));
}

TEST(DemandMetrics, LateFirstTokensHaveASeriesWhileTheyNeedReplicas) {
  DemandMetrics metrics;
  Decision decision = WithDemandOf(3.3);
  metrics.Update(kOfChat, decision);
  EXPECT_THAT(TextOf(metrics), Not(HasSubstr("latency_replicas")));
  decision.latency = LatencyDemand{.replicas = 5, .late_share = 0.12};
  metrics.Update(kOfChat, decision);
  EXPECT_THAT(TextOf(metrics),
              HasSubstr("keda_gpu_scaler_latency_replicas"
                        R"({namespace="team-a",scaledobject="chat",metric="m"} 5)"));
}

TEST(DemandMetrics, AreRemovedWithTheDemandAndAfterFifteenMinutes) {
  DemandMetrics metrics;
  metrics.Update(kOfChat, WithDemandOf(3.3));
  EXPECT_NE(TextOf(metrics, absl::Minutes(15)), "");
  EXPECT_EQ(TextOf(metrics, absl::Minutes(16)), "");
  metrics.Update(kOfChat, Decision());
  EXPECT_EQ(TextOf(metrics), "");
}

TEST(DemandMetrics, UnknownLimitIsZeroAlsoWithoutDemand) {
  DemandMetrics metrics;
  Decision decision;
  decision.taken_at = kDemandDecidedAt;
  decision.batch_limit_known = false;
  metrics.Update(kOfChat, decision);
  const std::string labels = R"({namespace="team-a",scaledobject="chat",metric="m")";
  EXPECT_THAT(TextOf(metrics), HasSubstr("keda_gpu_scaler_batch_limit_known" + labels + "} 0"));
  EXPECT_THAT(TextOf(metrics), HasSubstr("set maxConcurrency"));
  EXPECT_THAT(TextOf(metrics), Not(HasSubstr("demand_known")));
  decision.batch_limit_known = true;
  decision.batch_limit = 48;
  metrics.Update(kOfChat, decision);
  EXPECT_THAT(TextOf(metrics), HasSubstr("keda_gpu_scaler_batch_limit_known" + labels + "} 1"));
  EXPECT_THAT(TextOf(metrics), HasSubstr("keda_gpu_scaler_batch_limit_requests" + labels + "} 48"));
}

TEST(DemandMetrics, AreInTheMetricsOfTheProcess) {
  Metrics metrics;
  metrics.DemandDecided(kOfChat, WithDemandOf(3.3));
  EXPECT_THAT(metrics.Page(nullptr, kDemandDecidedAt, absl::Seconds(6)),
              HasSubstr("keda_gpu_scaler_demand_replicas{"));
}

TEST(ExplainAnswer, HasTheDemandBehindTheValue) {
  const auto parsed = std::make_shared<const ParsedTrigger>(
      ParsedTrigger{.trigger = ParseTrigger({{"profile", "vllm-inference"}}, BuiltInProfiles()),
                    .bad_keys = "",
                    .spec = {.metric_name = "m", .target = 80},
                    .wanted = {},
                    .source = {}});
  CachedDecision cached{.own = nullptr, .parsed = parsed, .decision = WithDemandOf(3.3)};
  const gpuscaler::v1::ExplainedDemand known = ExplainAnswer(cached, kDemandDecidedAt).demand();
  EXPECT_EQ(known.replicas(), 3.3);
  EXPECT_TRUE(known.counts());
  EXPECT_EQ(known.batch_limit(), 64);
  ASSERT_EQ(known.capacities_size(), 1);
  EXPECT_EQ(known.capacities(0).gpu_model(), "H100");
  EXPECT_EQ(known.capacities(0).requests_per_second(), 8.5);

  cached.decision = WithDemandOf(std::nullopt);
  cached.decision.demand->unknown_because = "capacity unknown";
  const gpuscaler::v1::ExplainedDemand unknown = ExplainAnswer(cached, kDemandDecidedAt).demand();
  EXPECT_FALSE(unknown.has_replicas());
  EXPECT_EQ(unknown.unknown_because(), "capacity unknown");
  cached.decision = Decision();
  EXPECT_FALSE(ExplainAnswer(cached, kDemandDecidedAt).has_demand());
}

}  // namespace
}  // namespace gpuscaler
