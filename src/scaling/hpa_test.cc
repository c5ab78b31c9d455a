#include "scaling/hpa.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;

constexpr absl::Duration kSyncPeriod = absl::Seconds(15);

HpaOptions WithTarget(double target, int max_replicas = 1000) {
  return {.max_replicas = max_replicas, .target = target};
}

// The replicas of each step are ready before the next. Limits and stabilization are left out
// because they affect the speed only.
std::vector<int> Proposals(const HpaOptions& options, int replicas, int steps,
                           const std::function<double(int replicas)>& value) {
  std::vector<int> seen = {replicas};
  for (int step = 1; step < steps; ++step) {
    replicas = std::min(options.max_replicas,
                        ProposeReplicas(options, replicas, replicas, value(replicas)));
    seen.push_back(replicas);
  }
  return seen;
}

// Like Proposals() through a whole HPA, one sync every 15 s.
std::vector<int> Syncs(Hpa& hpa, FakeClock& clock, int replicas, int steps,
                       const std::function<double(int replicas)>& value) {
  std::vector<int> seen = {replicas};
  for (int step = 1; step < steps; ++step) {
    replicas = hpa.Sync(clock.Now(), replicas, replicas, value(replicas));
    seen.push_back(replicas);
    clock.Advance(kSyncPeriod);
  }
  return seen;
}

TEST(ProposeReplicas, DividesByTheTargetOutsideTheTolerance) {
  struct Case {
    std::string name;
    TargetType type;
    int replicas;
    int ready;
    double value;
    int want;
  };
  constexpr auto kAverage = TargetType::kAverageValue;
  constexpr auto kValue = TargetType::kValue;
  for (const Case& c : std::vector<Case>{
           {"average, rounded up", kAverage, 2, 2, 241, 4},
           {"average, a tenth above", kAverage, 2, 2, 176, 2},
           {"average, just beyond a tenth above", kAverage, 2, 2, 176.1, 3},
           {"average, a tenth below", kAverage, 10, 10, 720, 10},
           {"average, just beyond a tenth below", kAverage, 10, 10, 719, 9},
           {"average, not by ready replicas", kAverage, 4, 1, 320, 4},
           {"average, nothing", kAverage, 4, 4, 0, 0},
           {"value, by ready replicas", kValue, 4, 2, 160, 4},
           {"value, within the tolerance", kValue, 4, 1, 84, 4},
           {"value, down", kValue, 4, 4, 40, 2},
           {"average at zero", kAverage, 0, 0, 200, 3},
           {"value at zero", kValue, 0, 0, 200, 3},
           {"average, enormous", kAverage, 1, 1, 1e300, 2147483647},
           {"average, no number", kAverage, 4, 4, std::nan(""), 0},
       }) {
    HpaOptions options = WithTarget(80);
    options.target_type = c.type;
    EXPECT_EQ(ProposeReplicas(options, c.replicas, c.ready, c.value), c.want) << c.name;
  }
}

TEST(ProposeReplicas, CountsInThousandths) {
  EXPECT_EQ(ProposeReplicas(WithTarget(0.05), 4, 4, 0.1504), 3) << "0.1504 is 0.150 to KEDA";
}

TEST(ProposeReplicas, ASaturatedFleetGrowsByItsRatio) {
  const auto saturated = [](int replicas) { return 100.0 * replicas; };
  EXPECT_THAT(Proposals(WithTarget(70), 1, 8, saturated), ElementsAre(1, 2, 3, 5, 8, 12, 18, 26));
  EXPECT_THAT(Proposals(WithTarget(75), 1, 10, saturated),
              ElementsAre(1, 2, 3, 4, 6, 8, 11, 15, 20, 27));
  EXPECT_THAT(Proposals(WithTarget(80), 1, 11, saturated),
              ElementsAre(1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24));
}

TEST(ProposeReplicas, ATargetNearSaturationNeverScalesOut) {
  EXPECT_THAT(Proposals(WithTarget(90), 1, 6, [](int replicas) { return 98.9 * replicas; }),
              ElementsAre(1, 1, 1, 1, 1, 1));
}

TEST(ProposeReplicas, TheReferenceStopsAtTwo) {
  EXPECT_THAT(Proposals(WithTarget(80), 3, 5, [](int) { return 100.0; }),
              ElementsAre(3, 2, 2, 2, 2));
}

TEST(ProposeReplicas, ATotalWithTypeValueRunsAway) {
  HpaOptions options = WithTarget(10, 50);
  const auto forty_requests = [](int) { return 40.0; };
  EXPECT_THAT(Proposals(options, 4, 4, forty_requests), ElementsAre(4, 4, 4, 4));
  options.target_type = TargetType::kValue;
  Hpa hpa(options);
  FakeClock clock;
  EXPECT_THAT(Syncs(hpa, clock, 4, 5, forty_requests), ElementsAre(4, 8, 16, 32, 50));
}

TEST(ProposeReplicas, LiteralPreallocatedMemoryRunsAway) {
  EXPECT_THAT(Proposals(WithTarget(70, 20), 4, 11, [](int replicas) { return 80.0 * replicas; }),
              ElementsAre(4, 5, 6, 7, 8, 10, 12, 14, 16, 19, 20));
}

TEST(HighestProposal, AFailingMetricHoldsScaleInOnly) {
  EXPECT_EQ(HighestProposal(4, {2, 3}), 3);
  EXPECT_EQ(HighestProposal(4, {6, std::nullopt}), 6);
  EXPECT_EQ(HighestProposal(4, {2, std::nullopt}), std::nullopt);
  EXPECT_EQ(HighestProposal(4, {std::nullopt}), std::nullopt);
}

TEST(Hpa, DoesNothingAtZeroReplicas) {
  Hpa hpa(WithTarget(80));
  FakeClock clock;
  EXPECT_EQ(hpa.Sync(clock.Now(), 0, 0, 1000.0), 0);
}

TEST(Hpa, KeepsReplicasIfTheMetricFails) {
  Hpa hpa(WithTarget(80));
  FakeClock clock;
  EXPECT_EQ(hpa.Sync(clock.Now(), 5, 5, std::nullopt), 5);
  clock.Advance(absl::Hours(1));
  EXPECT_EQ(hpa.Sync(clock.Now(), 5, 5, std::nullopt), 5);
}

TEST(Hpa, ClampsTheCountWithoutTheMetric) {
  Hpa hpa({.min_replicas = 2, .max_replicas = 5, .target = 80});
  FakeClock clock;
  EXPECT_EQ(hpa.Sync(clock.Now(), 9, 9, std::nullopt), 5);
  EXPECT_EQ(hpa.Sync(clock.Now(), 1, 1, std::nullopt), 2);
}

// Both limits of a scale-up, with Kubernetes' documented defaults.
TEST(Hpa, ScalesUpByFourOrDoublesInFifteenSeconds) {
  Hpa hpa(WithTarget(80));
  FakeClock clock;
  const auto storm = [](int) { return 1e6; };
  EXPECT_THAT(Syncs(hpa, clock, 1, 6, storm), ElementsAre(1, 5, 10, 20, 40, 80));
}

TEST(Hpa, CountsItsChangesWithinThePeriod) {
  Hpa hpa(WithTarget(80));
  FakeClock clock;
  EXPECT_EQ(hpa.Sync(clock.Now(), 1, 1, 1e6), 5);
  clock.Advance(absl::Seconds(14));
  EXPECT_EQ(hpa.Sync(clock.Now(), 5, 5, 1e6), 5) << "4 within 15 s are all";
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(hpa.Sync(clock.Now(), 5, 5, 1e6), 10);
}

TEST(Hpa, ScalesInOnlyAfterFiveMinutesOfLowerProposals) {
  Hpa hpa(WithTarget(80));
  FakeClock clock;
  EXPECT_EQ(hpa.Sync(clock.Now(), 10, 10, 800.0), 10);
  clock.Advance(absl::Seconds(299));
  EXPECT_EQ(hpa.Sync(clock.Now(), 10, 10, 80.0), 10);
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(hpa.Sync(clock.Now(), 10, 10, 80.0), 1);
}

TEST(Hpa, ScalesInToTheHighestProposalOfTheWindow) {
  Hpa hpa(WithTarget(80));
  FakeClock clock;
  hpa.Sync(clock.Now(), 10, 10, 800.0);
  clock.Advance(absl::Seconds(150));
  EXPECT_EQ(hpa.Sync(clock.Now(), 10, 10, 400.0), 10);
  clock.Advance(absl::Seconds(150));
  EXPECT_EQ(hpa.Sync(clock.Now(), 10, 10, 80.0), 5);
  clock.Advance(absl::Seconds(150));
  EXPECT_EQ(hpa.Sync(clock.Now(), 5, 5, 80.0), 1);
}

TEST(Hpa, ANewHpaDoesNotScaleInAtOnce) {
  Hpa hpa(WithTarget(80));
  FakeClock clock;
  EXPECT_EQ(hpa.Sync(clock.Now(), 6, 6, 0.0), 6);
  clock.Advance(absl::Minutes(5));
  EXPECT_EQ(hpa.Sync(clock.Now(), 6, 6, 0.0), 1);
}

TEST(Hpa, IgnoresAPeakWithinTheScaleUpWindow) {
  HpaOptions options = WithTarget(80);
  options.scale_up.stabilization_window = absl::Minutes(1);
  Hpa hpa(options);
  FakeClock clock;
  hpa.Sync(clock.Now(), 2, 2, 160.0);
  clock.Advance(absl::Seconds(30));
  EXPECT_EQ(hpa.Sync(clock.Now(), 2, 2, 800.0), 2);
  clock.Advance(absl::Seconds(30));
  EXPECT_EQ(hpa.Sync(clock.Now(), 2, 2, 480.0), 6);
}

TEST(Hpa, SelectPolicyDecidesBetweenPolicies) {
  struct Case {
    std::string name;
    HpaRules::Select select;
    int want_up;
    int want_down;
  };
  for (const Case& c : std::vector<Case>{
           {"Max", HpaRules::Select::kMax, 15, 5},
           {"Min", HpaRules::Select::kMin, 12, 8},
           {"Disabled", HpaRules::Select::kDisabled, 10, 10},
       }) {
    const HpaRules rules = {.stabilization_window = absl::ZeroDuration(),
                            .policies = {{HpaPolicy::Type::kPods, 2, absl::Minutes(1)},
                                         {HpaPolicy::Type::kPercent, 50, absl::Minutes(1)}},
                            .select = c.select};
    HpaOptions options = WithTarget(80);
    options.scale_up = rules;
    options.scale_down = rules;
    FakeClock clock;
    EXPECT_EQ(Hpa(options).Sync(clock.Now(), 10, 10, 1e6), c.want_up) << c.name;
    EXPECT_EQ(Hpa(options).Sync(clock.Now(), 10, 10, 0.0), c.want_down) << c.name;
  }
}

// Kubernetes' documented example of a 10 % policy starts with 80, 72.
TEST(Hpa, ScalesInByPercentOfTheCountAtThePeriodsStart) {
  HpaOptions options = WithTarget(80);
  options.scale_down = {.stabilization_window = absl::ZeroDuration(),
                        .policies = {{HpaPolicy::Type::kPercent, 10, absl::Minutes(1)}}};
  Hpa hpa(options);
  FakeClock clock;
  int replicas = hpa.Sync(clock.Now(), 80, 80, 0.0);
  EXPECT_EQ(replicas, 72);
  clock.Advance(absl::Seconds(59));
  EXPECT_EQ(hpa.Sync(clock.Now(), 72, 72, 0.0), 72) << "8 within the minute are all";
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(hpa.Sync(clock.Now(), 72, 72, 0.0), 64);
}

TEST(Hpa, WithoutABehaviorDoublesFromFourAtEverySync) {
  HpaOptions options = WithTarget(80);
  options.no_behavior = true;
  Hpa hpa(options);
  FakeClock clock;
  EXPECT_THAT(Syncs(hpa, clock, 1, 5, [](int) { return 1e6; }), ElementsAre(1, 4, 8, 16, 32));
  EXPECT_EQ(hpa.Sync(clock.Now(), 32, 32, 80.0), 64)
      << "the highest proposal of the window still counts, even upwards";
}

TEST(Hpa, WithoutABehaviorScalesInAfterFiveMinutes) {
  HpaOptions options = WithTarget(80);
  options.no_behavior = true;
  Hpa hpa(options);
  FakeClock clock;
  EXPECT_EQ(hpa.Sync(clock.Now(), 10, 10, 80.0), 10);
  clock.Advance(absl::Minutes(5));
  EXPECT_EQ(hpa.Sync(clock.Now(), 10, 10, 80.0), 10);
  clock.Advance(absl::Milliseconds(1));
  EXPECT_EQ(hpa.Sync(clock.Now(), 10, 10, 80.0), 1);
}

}  // namespace
}  // namespace gpuscaler
