// Decisions by the demand of a workload.
#include "scaling/workload_demand.h"

#include <memory>

#include "engine/test_simulated_service.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_engine_workload_builder.h"

namespace gpuscaler {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

Trigger WithDemand(DemandUse use) {
  Trigger trigger = VllmInference();
  trigger.demand = use;
  trigger.max_concurrency = 64;
  return trigger;
}

double FullLoad(const ServiceModel& model) {
  return model.PlannedRequestsPerSecond(0.95 * static_cast<double>(model.limit));
}

// Two replicas, each with a pressure, under the load of 1.5.
class WorkloadDemandTest : public testing::Test {
 protected:
  explicit WorkloadDemandTest(double load = 1.5) : service_(ServiceModel(), 2) {
    service_.Run(absl::Minutes(10), load * FullLoad(ServiceModel()));
  }

  EngineWorkloadBuilder Workload(double pressure) {
    EngineWorkloadBuilder llm({{"llm-a", pressure}, {"llm-b", pressure}});
    AddDemand(llm.signals());
    return llm;
  }

  void AddDemand(SignalHistory& signals) {
    for (size_t i = 0; i < signals.series.size(); ++i) {
      signals.series[i].demand =
          std::make_shared<const EngineDemand>(*service_.replica(i).demand.Sums());
    }
  }

  SimulatedService service_;
};

TEST_F(WorkloadDemandTest, IsTheValueOnceItIsKnown) {
  const Decision decision = Workload(10).Decide(WithDemand(DemandUse::kOn));
  ASSERT_TRUE(decision.demand.has_value());
  ASSERT_TRUE(decision.demand->replicas.has_value()) << decision.demand->unknown_because;
  EXPECT_NEAR(*decision.demand->replicas, 1.5, 0.2);
  EXPECT_NEAR(decision.value, 80 * *decision.demand->replicas, 0.001);
  EXPECT_TRUE(decision.by_demand);
  EXPECT_THAT(decision.notes, Contains(HasSubstr("requests/s")));
  EXPECT_THAT(decision.notes, Not(Contains(HasSubstr("observe"))));
}

TEST_F(WorkloadDemandTest, PressureRaisesItToAQuarterMoreAtMost) {
  const Decision low = Workload(10).Decide(WithDemand(DemandUse::kOn));
  const Decision high = Workload(150).Decide(WithDemand(DemandUse::kOn));
  EXPECT_NEAR(high.value, 1.25 * low.value, 0.01);
  const double between = 1.1 * low.value / 2;
  EXPECT_NEAR(Workload(between).Decide(WithDemand(DemandUse::kOn)).value, 2 * between, 0.01);
}

TEST_F(WorkloadDemandTest, ObservedItIsExplainedAndChangesNoValue) {
  for (const double pressure : {0.0, 10.0, 75.0, 150.0}) {
    const EngineWorkloadBuilder llm = Workload(pressure);
    const Decision observed = llm.Decide(WithDemand(DemandUse::kObserve));
    const Decision off = llm.Decide(WithDemand(DemandUse::kOff));
    EXPECT_EQ(observed.value, off.value) << pressure;
    EXPECT_EQ(observed.active, off.active) << pressure;
    EXPECT_EQ(observed.status, off.status) << pressure;
    EXPECT_FALSE(observed.by_demand);
    EXPECT_THAT(observed.notes, Contains(HasSubstr("observe: it does not count")));
    EXPECT_FALSE(off.demand.has_value());
    EXPECT_THAT(off.notes, Not(Contains(HasSubstr("demand"))));
  }
}

// Adds 20 first tokens in each 10 s of the last two minutes, half of them late while requests
// waited.
void AddLateFirstTokens(SignalHistory& signals) {
  for (SignalSeries& series : signals.series) {
    EngineDemand sums = *series.demand;
    const absl::Time epoch = absl::UnixEpoch();
    const absl::Time end = epoch + absl::Floor(sums.newest_at - epoch, kDemandBin);
    for (int bins = 12; bins > 0; --bins) {
      sums.first_tokens.push_back({.begin = end - bins * kDemandBin,
                                   .first_tokens = 20,
                                   .late = 10,
                                   .congested = kDemandBin,
                                   .waiting = 5});
    }
    series.demand = std::make_shared<const EngineDemand>(std::move(sums));
  }
}

TEST_F(WorkloadDemandTest, LateFirstTokensAddOneReplica) {
  Trigger trigger = WithDemand(DemandUse::kOn);
  trigger.ttft_slo = absl::Seconds(2);
  EngineWorkloadBuilder llm = Workload(10);
  EXPECT_LT(llm.Decide(trigger).value, 80 * 2);
  AddLateFirstTokens(llm.signals());
  const Decision decision = llm.Decide(trigger);
  EXPECT_EQ(decision.value, 80 * 3);
  EXPECT_THAT(decision.notes, Contains(HasSubstr("latency: 3 replicas: 50 % of")));
  trigger.target_type = TargetType::kValue;
  EXPECT_EQ(llm.Decide(trigger).value, 80 * 3 / 2) << "shared by two replicas";
}

TEST_F(WorkloadDemandTest, LateFirstTokensAddOneReplicaWhileTheCapacityIsUnknown) {
  Trigger trigger = WithDemand(DemandUse::kOn);
  trigger.max_concurrency.reset();
  trigger.ttft_slo = absl::Seconds(2);
  EngineWorkloadBuilder llm = Workload(30);
  AddLateFirstTokens(llm.signals());
  EXPECT_EQ(llm.Decide(trigger).value, 80 * 3);
}

TEST_F(WorkloadDemandTest, LateFirstTokensAreOnlyObservedIfDemandIs) {
  Trigger trigger = WithDemand(DemandUse::kObserve);
  trigger.ttft_slo = absl::Seconds(2);
  EngineWorkloadBuilder llm = Workload(30);
  AddLateFirstTokens(llm.signals());
  const Decision decision = llm.Decide(trigger);
  EXPECT_EQ(decision.value, 60);
  EXPECT_THAT(decision.notes, Contains(AllOf(HasSubstr("latency: "), HasSubstr("observe"))));
}

TEST_F(WorkloadDemandTest, WithTargetTypeValueItIsDividedByTheReplicas) {
  Trigger trigger = WithDemand(DemandUse::kOn);
  trigger.target_type = TargetType::kValue;
  const EngineWorkloadBuilder llm = Workload(10);
  const Decision decision = llm.Decide(trigger);
  EXPECT_NEAR(decision.value, 80 * *decision.demand->replicas / 2, 0.001);
}

TEST_F(WorkloadDemandTest, WithoutALimitThePressureCountsAndANoteNamesTheKeys) {
  Trigger trigger = WithDemand(DemandUse::kOn);
  trigger.max_concurrency.reset();
  const Decision decision = Workload(30).Decide(trigger);
  EXPECT_EQ(decision.value, 60);
  EXPECT_FALSE(decision.by_demand);
  EXPECT_THAT(decision.notes,
              Contains("demand: capacity unknown: set maxConcurrency or tpotSloMs"));
  trigger.tpot_slo = absl::Milliseconds(30);
  EXPECT_TRUE(Workload(30).Decide(trigger).by_demand);
}

TEST_F(WorkloadDemandTest, WithoutDemandReadingsThePressureCounts) {
  const EngineWorkloadBuilder llm({{"llm-a", 30}, {"llm-b", 30}});
  const Decision decision = llm.Decide(WithDemand(DemandUse::kOn));
  EXPECT_EQ(decision.value, 60);
  EXPECT_FALSE(decision.demand.has_value());
  EXPECT_THAT(decision.notes, Contains(HasSubstr("demand: not known: no engine reports")));
  EXPECT_THAT(llm.Decide(WithDemand(DemandUse::kObserve)).notes,
              Not(Contains(HasSubstr("demand"))));
}

TEST(DemandNote, WithoutAReplicaNoEngineLacksAMetric) {
  Decision decision;
  EXPECT_EQ(DemandNote(WithDemand(DemandUse::kOn), decision),
            "demand: not known: no replica is serving");
  EXPECT_EQ(DemandNote(WithDemand(DemandUse::kOff), decision), "");
  decision.replicas = 1;
  EXPECT_THAT(DemandNote(WithDemand(DemandUse::kOn), decision), HasSubstr("no engine reports"));
}

TEST_F(WorkloadDemandTest, AnEngineThatStillLoadsHasNoRequests) {
  EngineWorkloadBuilder llm = Workload(30);
  const Decision before = llm.Decide(WithDemand(DemandUse::kOn));
  llm.signals().series[1].first_read_at = absl::InfiniteFuture();
  llm.signals().series[1].demand = nullptr;
  const Decision decision = llm.Decide(WithDemand(DemandUse::kOn));
  ASSERT_TRUE(decision.demand.has_value());
  EXPECT_LT(decision.demand->arrivals_per_second, 0.7 * before.demand->arrivals_per_second);
}

TEST_F(WorkloadDemandTest, AsTheMetricItCountsReplicas) {
  Trigger trigger = InFlight(1);
  trigger.metric = MetricType::kDemandReplicas;
  trigger.max_concurrency = 64;
  const Decision decision = Workload(40).Decide(trigger);
  ASSERT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_NEAR(decision.value, 1.5, 0.2);
  EXPECT_TRUE(decision.active);
  EXPECT_EQ(decision.contributions.front().because, "40 requests in flight");

  trigger.max_concurrency.reset();
  const Decision unknown = Workload(40).Decide(trigger);
  EXPECT_EQ(unknown.status,
            absl::UnavailableError("demand: capacity unknown: set maxConcurrency or tpotSloMs"));
}

TEST_F(WorkloadDemandTest, TheSameInputsGiveTheSameDecisionWheneverItIsMade) {
  EngineWorkloadBuilder llm = Workload(30);
  const Trigger trigger = WithDemand(DemandUse::kOn);
  const Decision first = llm.Decide(trigger);
  llm.signals().now += absl::Seconds(30);
  const Decision later = llm.Decide(trigger);
  EXPECT_EQ(first.demand, later.demand) << "time alone changes no demand";
  EXPECT_EQ(first.value, later.value);
}

TEST_F(WorkloadDemandTest, DemandAtAnEarlierTimeDoesNotDependOnItsBin) {
  EngineWorkloadBuilder llm = Workload(30);
  const Trigger trigger = WithDemand(DemandUse::kOn);
  Replicas replicas;
  for (const SignalSeries& series : llm.signals().series) {
    replicas.engines.push_back({.series = &series});
  }
  const absl::Time newest = service_.now() - absl::Seconds(60);
  for (int seconds = 0; seconds < 10; ++seconds) {
    EXPECT_THAT(DemandAt(trigger, replicas, newest - absl::Seconds(seconds)),
                Optional(testing::DoubleNear(1.5, 0.25)))
        << seconds;
  }
}

class IdleWorkloadTest : public WorkloadDemandTest {
 protected:
  IdleWorkloadTest() : WorkloadDemandTest(0) {}
};

TEST_F(IdleWorkloadTest, NeedsNoReplica) {
  Trigger trigger = InFlight(1);
  trigger.metric = MetricType::kDemandReplicas;
  const Decision decision = Workload(0).Decide(trigger);
  ASSERT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 0);
  EXPECT_FALSE(decision.active);
}

Decision DecidedOn(double demand, int replicas, int unreadable = 0, int engines = 0) {
  Decision decision;
  decision.demand = Demand{.replicas = demand, .unknown_because = "", .engines = engines};
  decision.replicas = replicas;
  decision.unreadable = unreadable;
  return decision;
}

TEST(ValueWithDemand, IsNeverBelowTheDemandNorAboveAQuarterMore) {
  Trigger trigger = VllmInference();
  for (const double pressure : {0.0, 100.0, 160.0, 200.0, 1000.0}) {
    const double value = ValueWithDemand(trigger, pressure, DecidedOn(2, 3));
    EXPECT_GE(value, 160) << pressure;
    EXPECT_LE(value, 200) << pressure;
  }
  trigger.target_type = TargetType::kValue;
  EXPECT_EQ(ValueWithDemand(trigger, 0, DecidedOn(2, 4)), 40);
  EXPECT_EQ(ValueWithDemand(trigger, 0, DecidedOn(2, 0)), 0);
}

TEST(ValueWithDemand, AnUnreadableReplicaCountsTheTargetAtLeast) {
  Trigger trigger = VllmInference();
  EXPECT_EQ(ValueWithDemand(trigger, 80, DecidedOn(0, 2, 1)), 80) << "it may serve by now";
  EXPECT_EQ(ValueWithDemand(trigger, 80, DecidedOn(4.6, 5, 1, 5)), 4.6 * 80)
      << "it goes on as before in the demand";
  EXPECT_EQ(ValueWithDemand(trigger, 80, DecidedOn(1.8, 4, 2, 2)), 3.8 * 80)
      << "two were never read, and the demand has the others alone";
  trigger.target_type = TargetType::kValue;
  EXPECT_EQ(ValueWithDemand(trigger, 40, DecidedOn(0, 2, 1)), 40);
}

}  // namespace
}  // namespace gpuscaler
