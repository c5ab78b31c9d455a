// The whole loop: a load, GPUs, Decide, KEDA, the HPA, replicas.
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulate/fleet.h"
#include "simulate/report.h"
#include "simulate/scalers.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kPollInterval = absl::Seconds(2);
const absl::Time kStart = absl::FromUnixSeconds(1'767'225'600);

Trigger TriggerFrom(const Metadata& metadata) {
  const auto trigger = ParseTrigger(metadata, BuiltInProfiles());
  EXPECT_TRUE(trigger.ok()) << trigger.status();
  return trigger.value_or(Trigger());
}

// A fleet under our own Decide, beside a trigger that sees demand: `wake`, or who waits.
class Loop {
 public:
  Loop(const Scenario& scenario, const Metadata& metadata, int replicas = 0, Scaler* wake = nullptr)
      : trigger_(TriggerFrom(metadata)),
        fleet_(scenario, kStart, replicas, [&](const InferenceService& service) {
          gpus_ = std::make_unique<DecideScaler>(trigger_, service, absl::Seconds(6));
          demand_ = std::make_unique<DemandScaler>(service);
          return std::vector<KedaTrigger>{{gpus_.get(), trigger_.target, trigger_.target_type},
                                          {wake != nullptr ? wake : demand_.get()}};
        }) {
    gpus_->Observe();
    fleet_.Scale();
  }

  void RunFor(absl::Duration duration) { RunUntil(fleet_.passed() + duration); }
  void RunUntil(absl::Duration passed) {
    while (fleet_.passed() < passed) {
      fleet_.Advance(fleet_.service().now() + kPollInterval);
      gpus_->Observe();
      fleet_.Scale();
    }
  }

  // When the count became `replicas`, at the latest `patience` from now.
  absl::Duration Reaches(int replicas, absl::Duration patience) {
    const absl::Duration end = fleet_.passed() + patience;
    while (fleet_.desired() != replicas && fleet_.passed() < end) RunFor(kPollInterval);
    EXPECT_EQ(fleet_.desired(), replicas) << Explained();
    return fleet_.passed();
  }

  std::string Explained() const { return Explain(trigger_, gpus_->decision()); }
  const Fleet& fleet() const { return fleet_; }

 private:
  const Trigger trigger_;
  std::unique_ptr<DecideScaler> gpus_;
  std::unique_ptr<DemandScaler> demand_;
  Fleet fleet_;
};

Scenario SteadyLoad(double requests_per_second, absl::Duration duration) {
  return {.load = {.quiet = absl::ZeroDuration(),
                   .rise = absl::Seconds(1),
                   .hold = duration,
                   .fall = absl::Seconds(1),
                   .peak = requests_per_second}};
}

TEST(Scenario, TheThreeLineScaledObjectGoesFromZeroToTheMaximumAndBack) {
  Scenario scenario;
  scenario.load.hold = absl::Minutes(30);
  scenario.scaled_object.max_replica_count = 6;
  Loop loop(scenario, {{"profile", "vllm-inference"}});
  loop.RunUntil(absl::Seconds(60));
  EXPECT_EQ(loop.fleet().desired(), 0);
  loop.Reaches(6, scenario.load.End());
  loop.Reaches(0, absl::Hours(1));
  EXPECT_TRUE(loop.fleet().AtRest());
  EXPECT_EQ(loop.fleet().service().totals().served, loop.fleet().service().totals().arrived);
}

TEST(Scenario, AnIdleFleetOfPreallocatedVramGoesToZero) {
  Loop loop(SteadyLoad(0, absl::Hours(1)), {{"profile", "vllm-inference"}}, 4);
  const absl::Duration zero = loop.Reaches(0, absl::Minutes(30));
  EXPECT_LE(loop.fleet().service().totals().most_replicas, 4);
  EXPECT_GT(zero, absl::Minutes(10)) << "warm-up 300 s, activation window, cooldown 300 s";
}

TEST(Scenario, LiteralPreallocatedVramRunsAwayWhileIdle) {
  Scenario scenario = SteadyLoad(0, absl::Hours(1));
  scenario.scaled_object.max_replica_count = 8;
  Loop loop(scenario, {{"metricType", "memory_used_percent"}, {"targetValue", "70"}}, 1);
  loop.Reaches(8, absl::Hours(1));
}

TEST(Scenario, ASlowStartDoesNotRunAway) {
  Scenario scenario = SteadyLoad(0.2, absl::Hours(1));
  scenario.service.start_time = absl::Minutes(10);
  scenario.scaled_object.max_replica_count = 8;
  Loop loop(scenario, {{"profile", "vllm-inference"}, {"warmupSeconds", "600"}});
  loop.Reaches(1, absl::Minutes(2));
  loop.RunFor(absl::Minutes(10));
  EXPECT_EQ(loop.fleet().desired(), 1) << "no replica adds anything while the first one starts";
  loop.Reaches(2, absl::Minutes(10));
  loop.RunFor(absl::Minutes(9));
  EXPECT_LE(loop.fleet().desired(), 3) << loop.Explained();
}

TEST(Scenario, ALoadAtTheTargetSettles) {
  Scenario scenario = SteadyLoad(0.2, absl::Hours(4));
  Loop loop(scenario, {{"profile", "triton-inference"}, {"warmupSeconds", "60"}});
  loop.RunFor(absl::Hours(2));
  const int settled = loop.fleet().desired();
  EXPECT_GT(settled, 1);
  for (int i = 0; i < 100; ++i) {
    loop.RunFor(absl::Seconds(30));
    ASSERT_EQ(loop.fleet().desired(), settled) << loop.Explained();
  }
}

// Active until somebody has been woken.
class WakeOnce : public Scaler {
 public:
  absl::StatusOr<double> GetMetrics() override { return 0; }
  absl::StatusOr<bool> IsActive() override { return active; }
  bool active = false;
};

TEST(Scenario, AStartLongerThanTheCooldownIsNotKilled) {
  Scenario scenario = SteadyLoad(0, absl::Hours(1));
  scenario.service.start_time = absl::Seconds(360);
  WakeOnce wake;
  Loop loop(scenario,
            {{"profile", "triton-inference"}, {"warmupSeconds", "360"}, {"activationWindow", "0s"}},
            0, &wake);
  loop.RunUntil(absl::Seconds(58));
  wake.active = true;
  EXPECT_EQ(loop.Reaches(1, absl::Minutes(1)), absl::Seconds(60));
  wake.active = false;
  loop.RunUntil(absl::Seconds(418));
  EXPECT_EQ(loop.fleet().service().ready(), 0);
  EXPECT_EQ(loop.fleet().desired(), 1) << loop.Explained();
  loop.RunFor(kPollInterval);
  EXPECT_EQ(loop.fleet().service().ready(), 1);
  EXPECT_EQ(loop.Reaches(0, absl::Minutes(10)), absl::Seconds(720)) << loop.Explained();
}

TEST(Scenario, TheReferenceStopsAtTwoAndNeverGoesToZero) {
  const ScenarioResult result = RunReference({}, absl::Hours(2));
  EXPECT_EQ(result.totals.most_replicas, 2);
  EXPECT_EQ(result.replicas, 2);
}

TEST(Scenario, TheTableComparesWithItsFirstRow) {
  ScenarioResult ours{
      .name = "this scaler",
      .totals = {.gpu_seconds = 100, .begun = 4, .served = 4, .waited = absl::Seconds(8)}};
  ScenarioResult fixed{.name = "static", .totals = {.gpu_seconds = 250, .served = 4}};
  const std::string table = CostTable({ours, fixed});
  EXPECT_THAT(table, ::testing::HasSubstr("this scaler"));
  EXPECT_THAT(table, ::testing::HasSubstr("2s"));
  EXPECT_THAT(table, ::testing::HasSubstr("+150 % GPU-seconds"));
}

}  // namespace
}  // namespace gpuscaler
