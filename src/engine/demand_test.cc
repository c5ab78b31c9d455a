#include "engine/demand.h"

#include <algorithm>
#include <span>
#include <vector>

#include "engine/test_simulated_service.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;
using testing::Optional;

// The requests per second planned for one replica if its batch limit binds.
double Capacity(const ServiceModel& model) {
  return model.PlannedRequestsPerSecond(0.95 * static_cast<double>(model.limit));
}

double FullBatchRate(const ServiceModel& model) {
  return model.RequestsPerSecond(static_cast<double>(model.limit));
}

auto About(double value, double share = 0.1) {
  return Optional(AllOf(Ge(value * (1 - share)), Le(value * (1 + share))));
}

TEST(Demand, IsArrivalsDividedByCapacity) {
  const ServiceModel model;
  for (const double load : {0.8, 2.5, 8.3}) {
    SimulatedService service(model, static_cast<int>(load) + 1);
    service.Run(absl::Minutes(10), load * Capacity(model));
    const Demand demand = service.DemandNow(64);
    EXPECT_THAT(demand.replicas, About(load, 0.15)) << DemandText(demand);
    ASSERT_EQ(demand.capacities.size(), 1u);
    EXPECT_NEAR(demand.capacities[0].requests_per_second, Capacity(model), 0.02 * Capacity(model));
    EXPECT_NEAR(demand.tokens_per_answer, 250, 1e-6);
  }
}

TEST(Demand, IsSteadyUnderAConstantLoad) {
  const ServiceModel model;
  SimulatedService service(model, 4);
  service.Run(absl::Minutes(10), 3.3 * Capacity(model));
  for (int i = 0; i < 120; ++i) {
    service.Run(absl::Seconds(15), 3.3 * Capacity(model));
    const Demand demand = service.DemandNow(64);
    ASSERT_THAT(demand.replicas, About(3.3, 0.15)) << DemandText(demand);
  }
}

TEST(Demand, CountsArrivalsSinceTheLoadChanged) {
  ServiceModel model;
  model.tokens = 1000;
  SimulatedService service(model, 4);
  service.Run(absl::Minutes(30), 1 * Capacity(model));
  EXPECT_GE(service.DemandNow(64).window, absl::Seconds(100)) << "of one rate";
  service.Run(absl::Seconds(40), 3 * Capacity(model));
  const Demand demand = service.DemandNow(64);
  EXPECT_LE(demand.window, absl::Seconds(50)) << "of the new rate";
  EXPECT_GE(demand.arrivals_per_second, 2.2 * Capacity(model)) << DemandText(demand);
}

TEST(Demand, CountsArrivalsOfSlowAnswersOverALongerWindow) {
  ServiceModel model;
  model.tokens = 4000;
  SimulatedService service(model, 4);
  service.Run(absl::Minutes(30), 3 * Capacity(model));
  const Demand demand = service.DemandNow(64);
  EXPECT_GE(demand.window, absl::Seconds(60));
  EXPECT_THAT(demand.replicas, About(3, 0.2)) << DemandText(demand);
}

TEST(Demand, IsBoundByTimePerTokenIfTheLimitIsUnknown) {
  ServiceModel model;
  model.base_seconds = 0.0145;
  model.slope_seconds = 0.00015;
  model.limit = 256;
  const double batch = (0.9 * 0.030 - model.base_seconds) / model.slope_seconds;
  const double capacity = model.PlannedRequestsPerSecond(batch);
  SimulatedService service(model, 5);
  service.Run(absl::Minutes(10), 4.2 * capacity);
  const Demand demand = service.DemandNow(std::nullopt, absl::Milliseconds(30));
  EXPECT_THAT(demand.replicas, About(4.2)) << DemandText(demand);
  EXPECT_THAT(DemandText(demand), HasSubstr("90 % of tpotSloMs"));
}

TEST(Demand, RequestsAboveTheServiceLevelBatchAreBacklog) {
  ServiceModel model;
  model.base_seconds = 0.0145;
  model.slope_seconds = 0.00015;
  model.limit = 256;
  const double batch = (0.9 * 0.030 - model.base_seconds) / model.slope_seconds;
  SimulatedService service(model, 1);
  service.Run(absl::Minutes(10), 0.8 * model.PlannedRequestsPerSecond(batch));
  EngineDemand sums = *service.replica(0).demand.Sums();
  const EngineDemandInput engine{.sums = &sums};
  const auto backlog = [&] {
    return DemandOf({&engine, 1}, absl::Milliseconds(30), sums.newest_at).backlog;
  };
  sums.running = 0.9 * batch;
  EXPECT_EQ(backlog(), 0);
  sums.running = 2 * batch;
  EXPECT_GT(backlog(), 0);
}

TEST(Demand, IsBoundByTheKvCache) {
  ServiceModel model;
  model.kv_per_request = 1.0 / 30;
  SimulatedService service(model, 2);
  service.Run(absl::Minutes(10), 1.5 * model.PlannedRequestsPerSecond(0.85 * 30));
  const Demand demand = service.DemandNow(64);
  EXPECT_THAT(demand.replicas, About(1.5, 0.15)) << DemandText(demand);
  EXPECT_THAT(DemandText(demand), HasSubstr("85 % of the KV cache"));
}

TEST(Demand, IsUnknownWithoutABound) {
  const ServiceModel model;
  SimulatedService service(model, 2);
  service.Run(absl::Minutes(10), 1.5 * Capacity(model));
  const Demand demand = service.DemandNow(std::nullopt);
  EXPECT_EQ(demand.replicas, std::nullopt);
  EXPECT_EQ(demand.unknown_because, "capacity unknown: set maxConcurrency or tpotSloMs");
}

// From the pressure of 20 such replicas the HPA computed 2, but 9 are needed.
TEST(Demand, ExcessReplicasAreRemovedInSteps) {
  const ServiceModel model;
  SimulatedService service(model, 12);
  service.Run(absl::Minutes(10), 4 * Capacity(model));
  const Demand demand = service.DemandNow(64);
  EXPECT_THAT(demand.replicas, Optional(Ge(4))) << DemandText(demand);
  EXPECT_THAT(demand.replicas, Optional(Le(9))) << DemandText(demand);
  EXPECT_THAT(DemandText(demand), HasSubstr("three times the largest batch so far"));
}

// The mean of five minutes would still be 89 tokens, which makes 11 replicas seem needed.
TEST(Demand, ShorterAnswersAreDetectedWithinAMinute) {
  ServiceModel model;
  SimulatedService service(model, 4);
  service.Run(absl::Minutes(30), 3 * Capacity(model));
  model.tokens = 25;
  for (size_t i = 0; i < 4; ++i) service.replica(i).engine.model().tokens = model.tokens;
  service.Run(absl::Minutes(1), 3 * Capacity(model));
  const Demand demand = service.DemandNow(64);
  EXPECT_NEAR(demand.tokens_per_answer, 25, 1) << DemandText(demand);
  EXPECT_THAT(demand.replicas, About(3, 0.25)) << DemandText(demand);
}

// Prefill is most of the work for short answers: the time per token rises faster with the batch.
TEST(Demand, RequestsOfAnotherKindAreNoEvidenceOfCapacity) {
  ServiceModel model;
  SimulatedService service(model, 4);
  service.Run(absl::Minutes(30), 3 * Capacity(model));
  model.tokens = 25;
  model.slope_seconds = 0.002;
  for (size_t i = 0; i < 4; ++i) {
    service.replica(i).engine.model().tokens = model.tokens;
    service.replica(i).engine.model().slope_seconds = model.slope_seconds;
  }
  const double tpot_batch = (0.9 * 0.040 - model.base_seconds) / model.slope_seconds;
  const double capacity = model.PlannedRequestsPerSecond(tpot_batch);
  service.Run(absl::Minutes(5), 2.5 * capacity);
  const Demand demand = service.DemandNow(256, absl::Milliseconds(40));
  EXPECT_THAT(demand.replicas, About(2.5, 0.4)) << DemandText(demand);
}

constexpr absl::Duration kTpotSlo = absl::Milliseconds(100);

// The requests per second planned for one replica if `kTpotSlo` or its limit binds.
double CapacityInTime(const ServiceModel& model) {
  const double batch =
      (0.9 * absl::ToDoubleSeconds(kTpotSlo) - model.base_seconds) / model.slope_seconds;
  return model.PlannedRequestsPerSecond(std::min(batch, 0.95 * static_cast<double>(model.limit)));
}

// Prompts of 500 and of 4,000 tokens on one GPU.
constexpr ServiceModel kShortPrompts = {.base_seconds = 0.016,
                                        .slope_seconds = 0.00018,
                                        .limit = 256,
                                        .kv_per_request = 0.0012,
                                        .tokens = 300};
constexpr ServiceModel kLongPrompts = {.base_seconds = 0.016,
                                       .slope_seconds = 0.001025,
                                       .limit = 256,
                                       .kv_per_request = 0.0077,
                                       .tokens = 300};

// Eight engines serve `former` for 40 minutes and leave. Then three engines serve `model`.
class ReplacedEngines {
 public:
  ReplacedEngines(const ServiceModel& former, const ServiceModel& model, double load)
      : service_(former, kLeft), requests_per_second_(load * CapacityInTime(model)) {
    service_.Run(absl::Minutes(40), 6 * CapacityInTime(former));
    for (size_t i = 0; i < kLeft; ++i) service_.replica(i).is_present = false;
    service_.model() = model;
    for (int i = 0; i < 3; ++i) service_.Start();
  }

  void Run(absl::Duration duration) { service_.Run(duration, requests_per_second_); }
  void Leave(size_t engine) { service_.replica(engine).is_present = false; }
  std::vector<EngineDemandInput> Engines() { return service_.Engines(256); }
  absl::Time now() const { return service_.now(); }

  Demand DemandOfAll() { return DemandOf(Engines(), kTpotSlo, now()); }
  Demand DemandOfPresent() {
    const std::vector<EngineDemandInput> engines = Engines();
    return DemandOf(std::span(engines).subspan(kLeft), kTpotSlo, now());
  }

 private:
  static constexpr size_t kLeft = 8;
  SimulatedService service_;
  double requests_per_second_;
};

TEST(Demand, DepartedEnginesWithOtherPromptsAreNoEvidenceOfCapacity) {
  ReplacedEngines longer(kShortPrompts, kLongPrompts, 2.4);
  ReplacedEngines shorter(kLongPrompts, kShortPrompts, 2.4);
  for (ReplacedEngines* const engines : {&longer, &shorter}) {
    engines->Run(absl::Minutes(7));
    for (int i = 0; i < 10; ++i) {
      engines->Run(absl::Seconds(30));
      const Demand demand = engines->DemandOfAll();
      const Demand fresh = engines->DemandOfPresent();
      ASSERT_THAT(fresh.replicas, About(2.4, 0.3)) << DemandText(fresh);
      ASSERT_NEAR(demand.replicas.value_or(0), *fresh.replicas, 1)
          << DemandText(demand) << "; fresh: " << DemandText(fresh);
    }
  }
}

// Only the tokens per answer differ.
TEST(Demand, DepartedEnginesWithOtherAnswersAreNoEvidenceOfCapacity) {
  ServiceModel former = kShortPrompts;
  former.tokens = 3000;
  former.kv_per_request = 0;
  ServiceModel model = kLongPrompts;
  model.kv_per_request = 0;
  ReplacedEngines engines(former, model, 2.4);
  engines.Run(absl::Minutes(10));
  EXPECT_THAT(engines.DemandOfAll().replicas, About(2.4, 0.3)) << DemandText(engines.DemandOfAll());
}

TEST(Demand, DepartedEnginesWithTheSameRequestsAddFullerBatches) {
  ReplacedEngines engines(kLongPrompts, kLongPrompts, 0.5);
  engines.Run(absl::Minutes(10));
  const Demand demand = engines.DemandOfAll();
  ASSERT_EQ(demand.capacities.size(), 1u) << DemandText(demand);
  const double capacity = CapacityInTime(kLongPrompts);
  EXPECT_NEAR(demand.capacities[0].requests_per_second, capacity, 0.05 * capacity);
  EXPECT_THAT(DemandText(demand), HasSubstr("90 % of tpotSloMs"));
  EXPECT_THAT(DemandText(engines.DemandOfPresent()), HasSubstr("three times the largest batch"));
}

TEST(Demand, WithoutAnEngineTheLastDepartedOnesDetermineCapacity) {
  ReplacedEngines engines(kShortPrompts, kLongPrompts, 2.4);
  engines.Run(absl::Minutes(10));
  for (size_t i = 8; i < 11; ++i) engines.Leave(i);
  const EngineDemand held = {.first_at = engines.now() - absl::Minutes(1),
                             .newest_at = engines.now(),
                             .began_here = true,
                             .waiting = 10};
  std::vector<EngineDemandInput> all = engines.Engines();
  all.push_back({.sums = &held, .is_gateway = true});
  const Demand demand = DemandOf(all, kTpotSlo, engines.now());
  ASSERT_EQ(demand.capacities.size(), 1u) << DemandText(demand);
  const double capacity = CapacityInTime(kLongPrompts);
  EXPECT_NEAR(demand.capacities[0].requests_per_second, capacity, 0.3 * capacity);
}

TEST(Demand, ALoadStepIsDetectedWithinAMinute) {
  const ServiceModel model;
  SimulatedService service(model, 1);
  service.Run(absl::Minutes(10), 0.8 * Capacity(model));
  service.Run(absl::Minutes(1), 6 * Capacity(model));
  const Demand demand = service.DemandNow(64);
  EXPECT_THAT(demand.replicas, Optional(Ge(6))) << DemandText(demand);
  EXPECT_THAT(demand.replicas, Optional(Le(1.6 * 6))) << "backlog is half of it at most";
  EXPECT_NEAR(demand.tokens_per_answer, 250, 1e-6) << "of finished answers alone";
}

TEST(Demand, FallsMonotonicallyAfterTheLoad) {
  const ServiceModel model;
  SimulatedService service(model, 4);
  service.Run(absl::Minutes(10), 3.3 * Capacity(model));
  double before = service.DemandNow(64).replicas.value_or(0);
  for (int i = 0; i < 300; ++i) {
    service.Run(absl::Seconds(1), 0.1 * Capacity(model));
    const Demand demand = service.DemandNow(64);
    ASSERT_THAT(demand.replicas, Optional(Le(before + 0.05))) << i << " s: " << DemandText(demand);
    before = std::min(before, *demand.replicas);
  }
  EXPECT_LT(before, 0.5);
}

TEST(Demand, AGapIsSpreadOverItsTime) {
  const ServiceModel model;
  SimulatedService service(model, 5);
  service.Run(absl::Minutes(10), 4.6 * Capacity(model));
  service.replica(0).is_readable = false;
  for (int i = 0; i < 6; ++i) {
    service.Run(absl::Seconds(10), 4.6 * Capacity(model));
    EXPECT_THAT(service.DemandNow(64).replicas, About(4.6, 0.15)) << "its arrivals go on";
  }
  service.replica(0).is_readable = true;
  for (int i = 0; i < 12; ++i) {
    service.Run(absl::Seconds(5), 4.6 * Capacity(model));
    EXPECT_THAT(service.DemandNow(64).replicas, About(4.6, 0.15)) << "nothing arrives at once";
  }
}

TEST(Demand, AJoiningReplicaChangesNothing) {
  const ServiceModel model;
  SimulatedService service(model, 4);
  service.Run(absl::Minutes(10), 3.3 * Capacity(model));
  service.Start();
  for (int i = 0; i < 24; ++i) {
    service.Run(absl::Seconds(5), 3.3 * Capacity(model));
    ASSERT_THAT(service.DemandNow(64).replicas, About(3.3, 0.15));
  }
}

TEST(Demand, ALeavingReplicaChangesNothing) {
  const ServiceModel model;
  SimulatedService service(model, 5);
  service.Run(absl::Minutes(10), 3.3 * Capacity(model));
  service.replica(0).is_present = false;
  for (int i = 0; i < 24; ++i) {
    service.Run(absl::Seconds(5), 3.3 * Capacity(model));
    ASSERT_THAT(service.DemandNow(64).replicas, About(3.3, 0.15));
  }
}

// A Deployment with strategy Recreate has no pod for a while.
TEST(Demand, TimeWithoutEnginesIsNoTimeWithoutRequests) {
  const ServiceModel model;
  SimulatedService service(model, 4);
  service.Run(absl::Minutes(10), 3.3 * Capacity(model));
  for (size_t i = 0; i < 4; ++i) service.replica(i).is_present = false;
  service.Run(absl::Minutes(2), 3.3 * Capacity(model));
  EXPECT_EQ(service.DemandNow(64).replicas, std::nullopt);
  for (int i = 0; i < 5; ++i) service.Start();
  for (int i = 0; i < 24; ++i) {
    service.Run(absl::Seconds(5), 3.3 * Capacity(model));
    if (i == 2) service.replica(4).is_present = false;  // a new one leaves at once
    ASSERT_THAT(service.DemandNow(64).replicas, About(3.3, 0.3)) << i;
  }
}

TEST(Demand, AnUnreadEngineHasTheMeanOfTheOthers) {
  const ServiceModel model;
  SimulatedService service(model, 4);
  service.Run(absl::Minutes(10), 3.2 * Capacity(model));
  std::vector<EngineDemandInput> engines = service.Engines(64);
  engines[0].sums = nullptr;
  EXPECT_THAT(DemandOf(engines, std::nullopt, service.now()).replicas, About(3.2, 0.15));
}

TEST(Demand, AnIdleEngineKeepsItsCapacity) {
  const ServiceModel model;
  SimulatedService service(model, 2);
  service.Run(absl::Minutes(10), 1.5 * Capacity(model));
  service.Run(absl::Minutes(60), 0);
  EXPECT_THAT(service.DemandNow(64).replicas, Optional(0));
  service.Run(absl::Minutes(1), 1.5 * Capacity(model));
  EXPECT_THAT(service.DemandNow(64).replicas, About(1.5, 0.25));
}

TEST(Demand, GpuModelsAreFittedSeparately) {
  const ServiceModel model;
  SimulatedService service(model, 4);
  for (int i = 0; i < 2; ++i) {
    service.replica(i).gpu_model = "slow";
    service.replica(i).engine.model().base_seconds *= 2;
    service.replica(i).engine.model().slope_seconds *= 2;
  }
  for (int i = 2; i < 4; ++i) service.replica(i).gpu_model = "fast";
  service.Run(absl::Minutes(10), 2.4 * Capacity(model));
  const Demand demand = service.DemandNow(64);
  ASSERT_EQ(demand.capacities.size(), 2u);
  EXPECT_EQ(demand.capacities[0].gpu_model, "fast");
  EXPECT_NEAR(demand.capacities[0].requests_per_second, Capacity(model), 0.03 * Capacity(model));
  EXPECT_NEAR(demand.capacities[1].requests_per_second, Capacity(model) / 2,
              0.03 * Capacity(model));
}

TEST(Demand, TheNewestTemplateIsFittedAfterAMinuteOfService) {
  const ServiceModel model;
  SimulatedService service(model, 4);
  for (int i = 2; i < 4; ++i) {
    service.replica(i).engine.model().base_seconds *= 2;
    service.replica(i).engine.model().slope_seconds *= 2;
  }
  service.Run(absl::Minutes(10), 2.4 * Capacity(model));
  std::vector<EngineDemandInput> engines = service.Engines(64);
  engines[0].is_of_newest_template = false;
  engines[1].is_of_newest_template = false;
  const Demand demand = DemandOf(engines, std::nullopt, service.now());
  ASSERT_EQ(demand.capacities.size(), 1u);
  EXPECT_NEAR(demand.capacities[0].requests_per_second, Capacity(model) / 2,
              0.03 * Capacity(model));
}

TEST(Demand, ASmallerLimitOfANewTemplateLowersCapacity) {
  ServiceModel model;
  model.limit = 16;
  const double capacity = model.PlannedRequestsPerSecond(0.95 * 16);
  SimulatedService service(model, 3);
  service.Run(absl::Minutes(10), 2.4 * capacity);
  EXPECT_THAT(service.DemandNow(16).replicas, About(2.4, 0.15));
  EXPECT_THAT(service.DemandNow(64).replicas, Optional(Ge(2.4 / 3)))
      << "a limit that outlived its engines, until they are seen full";
}

TEST(Demand, TokensOfUnfinishedAnswersDoNotCountAsAnswers) {
  ServiceModel model;
  model.tokens = 2000;
  SimulatedService service(model, 2);
  service.Run(absl::Minutes(20), 0.5 * Capacity(model));
  service.Run(absl::Minutes(1), 4 * Capacity(model));
  EXPECT_NEAR(service.DemandNow(64).tokens_per_answer, 2000, 1e-6);
}

TEST(Demand, LongAnswersKeepTheirReplicasWithoutNewRequests) {
  ServiceModel model;
  model.tokens = 30'000;
  SimulatedService service(model, 3);
  service.Run(absl::Minutes(40), 3 * FullBatchRate(model));
  service.Run(absl::Minutes(7), 0);
  const Demand demand = service.DemandNow(64);
  EXPECT_NEAR(demand.arrivals_per_second, 0, 0.05);
  EXPECT_THAT(demand.replicas, Optional(Ge(1))) << DemandText(demand);
  EXPECT_THAT(demand.replicas, Optional(Le(3))) << "never more than there are";
}

TEST(Demand, AnUnreadableEngineCountsAtMostOneReplica) {
  const ServiceModel model;
  SimulatedService service(model, 2);
  service.Run(absl::Minutes(10), 3 * Capacity(model));
  service.replica(0).is_readable = false;
  service.Run(absl::Minutes(1), 0.2 * Capacity(model));
  EXPECT_THAT(service.DemandNow(64).replicas, Optional(Le(2.01)));
}

TEST(Demand, IsUnknownIfMostEnginesAreUnread) {
  const ServiceModel model;
  SimulatedService service(model, 5);
  for (size_t i = 1; i < 5; ++i) service.replica(i).is_readable = false;
  service.Run(absl::Minutes(10), 4 * Capacity(model));
  const Demand demand = service.DemandNow(64);
  EXPECT_EQ(demand.replicas, std::nullopt);
  EXPECT_THAT(demand.unknown_because, HasSubstr("most engines"));
}

TEST(Demand, IsUnknownWithoutReadings) {
  EXPECT_EQ(DemandOf({}, std::nullopt, absl::UnixEpoch()).replicas, std::nullopt);
  const EngineDemandInput unread;
  EXPECT_EQ(DemandOf({&unread, 1}, std::nullopt, absl::UnixEpoch()).replicas, std::nullopt);
}

}  // namespace
}  // namespace gpuscaler
