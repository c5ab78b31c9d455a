// The whole loop on a workload with unreadable engines: GPUs, Decide(), KEDA, the HPA, replicas.
#include <algorithm>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulate/closed_loop.h"
#include "simulate/recipe_scalers.h"
#include "simulate/test_workload_telemetry.h"
#include "trigger/test_parsed_trigger.h"

namespace gpuscaler {
namespace {

// Four requests at once take 20 s each.
constexpr EngineRequest kTwentySeconds = {.prompt_tokens = 1, .max_tokens = 200};

LoopScenario Scenario(const RateCurve& requests_per_second, absl::Duration duration,
                      int initial_replicas = 0) {
  return {.workload = {.engine = {.max_num_seqs = 4, .step = {.base = 0.1}},
                       .shortest_start = absl::Seconds(60),
                       .longest_start = absl::Seconds(60)},
          .goals = {absl::InfiniteDuration(), absl::InfiniteDuration()},
          .requests = EvenTrace(requests_per_second, duration, kTwentySeconds),
          .duration = duration,
          .initial_replicas = initial_replicas};
}

// Rises from 0 to a peak within half an hour and ends after 43 min.
RateCurve RiseAndFall() {
  return *RateCurve::Parse("60 0.1\n360 0.3\n660 0.5\n960 0.7\n1260 0.9\n1560 1\n2580 0");
}

// Runs this project's scaler beside a trigger that wakes the first replica.
LoopResult RunOurs(const LoopScenario& scenario, const Metadata& metadata, int max_replicas = 100,
                   const KedaTrigger& wake = HeldRequestsRecipe()) {
  KedaPolicy policy({.max_replica_count = max_replicas},
                    {OwnTrigger(Parsed(metadata), {.pods_api = false, .engines = false}), wake});
  return RunLoop(scenario, policy);
}

// Infinite: spec.replicas never was `replicas` after `from`.
absl::Duration FirstAt(const LoopResult& result, int replicas,
                       absl::Duration from = absl::ZeroDuration()) {
  for (const LoopSample& sample : result.samples) {
    if (sample.at >= from && sample.desired == replicas) return sample.at;
  }
  return absl::InfiniteDuration();
}

int MostWithin(const LoopResult& result, absl::Duration from, absl::Duration until) {
  int most = 0;
  for (const LoopSample& sample : result.samples) {
    if (from <= sample.at && sample.at <= until) most = std::max(most, sample.desired);
  }
  return most;
}

TEST(Scenario, AThreeLineScaledObjectScalesFromZeroToTheMaximumAndBack) {
  const LoopResult result = RunOurs(Scenario(RiseAndFall(), absl::Minutes(90)),
                                    {{"profile", "vllm-inference"}}, /*max_replicas=*/6);
  EXPECT_EQ(MostWithin(result, absl::ZeroDuration(), absl::Seconds(60)), 0);
  const absl::Duration maximum = FirstAt(result, 6);
  EXPECT_LT(maximum, absl::Minutes(43));
  EXPECT_LT(FirstAt(result, 0, maximum), absl::Minutes(90));
  EXPECT_EQ(result.totals.unserved, 0);
  EXPECT_GT(result.totals.served, 1000);
}

TEST(Scenario, AnIdleFleetOfPreallocatedVramGoesToZero) {
  const LoopResult result =
      RunOurs(Scenario(RateCurve::Constant(0), absl::Minutes(40), /*initial_replicas=*/4),
              {{"profile", "vllm-inference"}});
  EXPECT_LE(result.totals.most_replicas, 4);
  EXPECT_LT(FirstAt(result, 0), absl::Minutes(30));
  EXPECT_GT(FirstAt(result, 0), absl::Minutes(5)) << "activation window, cooldown 300 s";
}

TEST(Scenario, LiteralPreallocatedVramRunsAwayWhileIdle) {
  const LoopResult result =
      RunOurs(Scenario(RateCurve::Constant(0), absl::Hours(1), /*initial_replicas=*/1),
              {{"metricType", "memory_used_percent"}, {"targetValue", "70"}}, /*max_replicas=*/8);
  EXPECT_LT(FirstAt(result, 8), absl::Hours(1));
}

TEST(Scenario, ASlowStartDoesNotRunAway) {
  LoopScenario scenario = Scenario(RateCurve::Constant(0.2), absl::Minutes(40));
  scenario.workload.shortest_start = scenario.workload.longest_start = absl::Minutes(10);
  // The memory is constant while the engine compiles, for longer than the default window.
  const LoopResult result = RunOurs(
      scenario,
      {{"profile", "vllm-inference"}, {"warmupSeconds", "600"}, {"preallocationWindow", "200s"}},
      /*max_replicas=*/8);
  const absl::Duration first = FirstAt(result, 1);
  EXPECT_LE(first, absl::Minutes(2));
  EXPECT_EQ(MostWithin(result, first, first + absl::Minutes(10)), 1)
      << "no replica adds anything while the first one starts";
  const absl::Duration second = FirstAt(result, 2);
  EXPECT_LT(second, first + absl::Minutes(20));
  EXPECT_LE(MostWithin(result, second, second + absl::Minutes(9)), 3);
}

TEST(Scenario, ALoadAtTheTargetIsSteady) {
  const LoopResult result =
      RunOurs(Scenario(RateCurve::Constant(0.2), absl::Hours(3), /*initial_replicas=*/1),
              {{"profile", "triton-inference"}, {"warmupSeconds", "60"}});
  const int settled = result.samples.back().desired;
  EXPECT_GT(settled, 1);
  for (const LoopSample& sample : result.samples) {
    if (sample.at <= absl::Hours(2)) continue;
    ASSERT_EQ(sample.desired, settled) << sample.at;
  }
}

TEST(Scenario, AStartLongerThanTheCooldownIsNotKilled) {
  LoopScenario scenario = Scenario(RateCurve::Constant(0), absl::Minutes(15));
  scenario.workload.shortest_start = scenario.workload.longest_start = absl::Seconds(360);
  const absl::Time start = SimulatedStart();
  const KedaTrigger wake = Recipe(
      [start](const SimulatedWorkload& workload) {
        const absl::Duration passed = workload.now() - start;
        return absl::Seconds(58) <= passed && passed <= absl::Seconds(60) ? 1.0 : 0.0;
      },
      1);
  // The pod is first observed a second after its creation.
  const LoopResult result = RunOurs(
      scenario,
      {{"profile", "triton-inference"}, {"warmupSeconds", "359"}, {"activationWindow", "0s"}}, 100,
      wake);
  EXPECT_EQ(FirstAt(result, 1), absl::Seconds(60));
  EXPECT_EQ(result.TimeUntilReady(1, absl::ZeroDuration()), absl::Seconds(420));
  EXPECT_EQ(FirstAt(result, 0, absl::Seconds(60)), absl::Seconds(720));
}

TEST(Scenario, TheReferenceStopsAtTwoAndNeverGoesToZero) {
  KedaPolicy policy({}, {GoScalerTrigger(), HeldRequestsRecipe()});
  const LoopResult result = RunLoop(Scenario(RiseAndFall(), absl::Hours(2)), policy);
  EXPECT_EQ(result.totals.most_replicas, 2);
  EXPECT_EQ(result.samples.back().desired, 2);
}

}  // namespace
}  // namespace gpuscaler
