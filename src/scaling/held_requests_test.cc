// Decisions with a gateway that holds requests for the engines of a trigger.
#include "scaling/held_requests.h"

#include <memory>

#include "engine/demand_accumulator.h"
#include "engine/test_simulated_service.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_engine_workload_builder.h"

namespace gpuscaler {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kGateway[] = "queue_size at http://gateway:9090/metrics";
const ServiceModel kModel;
const double kFull = kModel.PlannedRequestsPerSecond(0.95 * static_cast<double>(kModel.limit));

Trigger WithGateway() {
  Trigger trigger = VllmInference();
  trigger.max_concurrency = 64;
  trigger.metrics_endpoint = {.url = "http://gateway:9090/metrics", .selector = "queue_size"};
  return trigger;
}

// A gateway that was read for five minutes, holds `held` now, and grew by `per_second`.
SignalSeries GatewaySeries(absl::Time now, double per_second, double held) {
  SignalSeries series{.name = kGateway};
  DemandAccumulator demand;
  constexpr int kSeconds = 300;
  for (int ago = kSeconds; ago >= 0; --ago) {
    const double then = std::max(0.0, held - per_second * ago);
    const absl::Time at = now - absl::Seconds(ago);
    demand.Take({.at = at, .waiting = then, .running = 0, .requests_done = 1});
    series.points.push_back({.at = at, .value = then});
  }
  series.demand = std::make_shared<const EngineDemand>(*demand.Sums());
  return series;
}

void SetGateway(EngineWorkloadBuilder& llm, const SignalSeries& series) {
  SignalHistory history{.now = llm.now(), .series = {series}};
  llm.signals().gateway = std::make_shared<const SignalHistory>(std::move(history));
}

EngineWorkloadBuilder AtZeroReplicas() {
  return EngineWorkloadBuilder(FleetBuilder().RepeatFor(absl::Minutes(12), {Node("n-a", {})}));
}

TEST(HeldRequests, WithoutReplicasAndCapacityOneReplicaIsNeeded) {
  EngineWorkloadBuilder llm = AtZeroReplicas();
  SetGateway(llm, GatewaySeries(llm.now(), 20, 400));
  const Decision decision = llm.Decide(WithGateway());
  ASSERT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 80);
  EXPECT_TRUE(decision.active);
  EXPECT_THAT(decision.active_because, HasSubstr("holds 400 requests"));
  EXPECT_THAT(decision.notes, Contains(HasSubstr(std::string(kGateway) + " holds 400 requests")));
  EXPECT_THAT(decision.notes, Contains(HasSubstr("demand: 1 replica for the requests")));
}

TEST(HeldRequests, WithoutHeldRequestsNoReplicaIsNeeded) {
  EngineWorkloadBuilder llm = AtZeroReplicas();
  SetGateway(llm, GatewaySeries(llm.now(), 0, 0));
  const Decision decision = llm.Decide(WithGateway());
  ASSERT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 0);
  EXPECT_FALSE(decision.active);
  EXPECT_NE(decision.active_until, absl::InfiniteFuture()) << "the reading grows stale";
}

TEST(HeldRequests, AThresholdOfTheMetadataIsLiteral) {
  EngineWorkloadBuilder llm = AtZeroReplicas();
  SetGateway(llm, GatewaySeries(llm.now(), 0.1, 3));
  Trigger trigger = WithGateway();
  EXPECT_TRUE(llm.Decide(trigger).active) << "the profile's 5 is a percentage";
  trigger.activation_threshold_given = true;
  EXPECT_FALSE(llm.Decide(trigger).active);
}

TEST(HeldRequests, AGatewayThatCannotBeReadIsUnknownWithoutAReplica) {
  EngineWorkloadBuilder llm = AtZeroReplicas();
  EXPECT_THAT(llm.Decide(WithGateway()).status.ToString(),
              HasSubstr("UNAVAILABLE: gateway: not read yet"));
  SignalSeries series = GatewaySeries(llm.now() - absl::Minutes(1), 1, 10);
  series.error = "connection refused";
  SetGateway(llm, series);
  const Decision decision = llm.Decide(WithGateway());
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(decision.status.message()), HasSubstr("connection refused"));
}

// Two replicas under the load of 1.5.
class HeldBesideEnginesTest : public testing::Test {
 protected:
  HeldBesideEnginesTest() : service_(kModel, 2), llm_({{"llm-a", 10}, {"llm-b", 10}}) {
    service_.Run(absl::Minutes(10), 1.5 * kFull);
    for (size_t i = 0; i < 2; ++i) {
      llm_.signals().series[i].demand =
          std::make_shared<const EngineDemand>(*service_.replica(i).demand.Sums());
    }
  }

  // Sets a gateway with readings that end with those of the engines.
  void HoldGrowing(double per_second, double held) {
    SignalSeries series = GatewaySeries(service_.now(), per_second, held);
    for (SignalPoint& point : series.points) point.at += llm_.now() - service_.now();
    SetGateway(llm_, series);
  }

  SimulatedService service_;
  EngineWorkloadBuilder llm_;
};

TEST_F(HeldBesideEnginesTest, GrowthAddsToArrivals) {
  HoldGrowing(0, 0);
  const Decision idle = llm_.Decide(WithGateway());
  ASSERT_TRUE(idle.by_demand);
  EXPECT_NEAR(*idle.demand->replicas, 1.5, 0.2);
  HoldGrowing(kFull, 30 * kFull);
  const Decision growing = llm_.Decide(WithGateway());
  ASSERT_TRUE(growing.by_demand);
  EXPECT_NEAR(growing.demand->arrivals_per_second - idle.demand->arrivals_per_second, kFull,
              0.1 * kFull);
  EXPECT_GE(*growing.demand->replicas, 2.4);
  EXPECT_LE(*growing.demand->replicas, 1.5 * 2.7) << "the backlog is half of it at most";
}

TEST_F(HeldBesideEnginesTest, WhatLeavesTheGatewayIsNotCountedAgain) {
  HoldGrowing(0, 0);
  const double before = llm_.Decide(WithGateway()).demand->arrivals_per_second;
  HoldGrowing(-2, 0);  // 2 of the engines' arrivals each second were held before
  const Decision decision = llm_.Decide(WithGateway());
  EXPECT_LE(decision.demand->arrivals_per_second, before);
}

TEST_F(HeldBesideEnginesTest, EnginesCountAloneWhileTheGatewayCannotBeRead) {
  const Decision decision = llm_.Decide(WithGateway());
  ASSERT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_TRUE(decision.by_demand);
  EXPECT_NEAR(*decision.demand->replicas, 1.5, 0.2);
  EXPECT_THAT(decision.notes, Contains(HasSubstr("gateway: not read yet")));
}

TEST_F(HeldBesideEnginesTest, ATriggerWithoutAGatewayHasNoSuchNote) {
  Trigger trigger = WithGateway();
  trigger.metrics_endpoint = {};
  EXPECT_THAT(llm_.Decide(trigger).notes, Not(Contains(HasSubstr("gateway"))));
}

}  // namespace
}  // namespace gpuscaler
