// Starts from zero behind a gateway that holds requests until the first replica is ready.
#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "simulate/closed_loop.h"
#include "simulate/test_recipe_scalers.h"
#include "simulate/test_request_trace.h"
#include "simulate/test_workload_telemetry.h"
#include "trigger/test_parsed_trigger.h"

namespace gpuscaler {
namespace {

constexpr double kLoad = 2.5;  // engines
constexpr int kNeed = 3;
constexpr absl::Duration kLoaded = absl::Minutes(30);
constexpr absl::Duration kLongestStart = absl::Seconds(180);
// One poll of KEDA and one sync of the HPA.
constexpr absl::Duration kReaction = absl::Seconds(45);

struct FromZero {
  int before = 0;  // replicas when the load rises
  int most = 0;
  std::optional<absl::Duration> until_enough;
  int at_end = 0;
};

// With `was_loaded` the same load ended 12 minutes before, so the workload went to zero and its
// capacity is known. Otherwise no engine was ever read.
FromZero RunFromZero(const EnginePreset& preset, bool was_loaded, uint64_t seed,
                     const std::vector<KedaTrigger>& triggers) {
  const absl::Duration first = was_loaded ? absl::Minutes(20) : absl::ZeroDuration();
  const absl::Duration rises = first + absl::Minutes(was_loaded ? 12 : 2);
  LoopScenario scenario{
      .workload = {.engine = preset.batch, .longest_start = kLongestStart, .seed = seed},
      .goals = preset.goals};
  scenario.duration = rises + kLoaded + absl::Minutes(15);
  scenario.initial_replicas = was_loaded ? kNeed : 0;
  const RateCurve rate = RateCurve::Constant(kLoad * preset.requests_per_second);
  if (was_loaded) scenario.requests = PoissonTrace(rate, first, preset.request, seed);
  for (TracedRequest each : PoissonTrace(rate, kLoaded, preset.request, seed)) {
    each.at += rises;
    scenario.requests.push_back(each);
  }
  KedaPolicy policy({.max_replica_count = 20}, triggers);
  const LoopResult result = RunLoop(scenario, policy);
  FromZero outcome{.until_enough = result.TimeUntilReady(kNeed, rises),
                   .at_end = result.samples.back().desired};
  for (const LoopSample& sample : result.samples) {
    if (sample.at == rises) outcome.before = sample.desired;
    if (sample.at >= rises) outcome.most = std::max(outcome.most, sample.desired);
  }
  return outcome;
}

KedaTrigger OfEngines(const EnginePreset& preset, const Metadata& more = {}) {
  Metadata metadata = {
      {"profile", "vllm-inference"},
      {"maxConcurrency", absl::StrCat(preset.batch.max_num_seqs)},
      {"tpotSloMs", absl::StrCat(absl::ToInt64Milliseconds(preset.goals.per_output_token))}};
  metadata.insert(more.begin(), more.end());
  return OwnTrigger(Parsed(metadata));
}

std::vector<KedaTrigger> WithGatewayUrl(const EnginePreset& preset) {
  return {OfEngines(
      preset, {{"gatewayUrl", "http://gateway:9090/metrics"}, {"prometheusMetric", "queue_size"}})};
}

class GatewayScenario : public testing::TestWithParam<const char*> {
 protected:
  const EnginePreset& preset() const { return *EnginePresetNamed(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Engines, GatewayScenario, testing::Values("small-batch", "8b", "llm-d"));

TEST_P(GatewayScenario, HeldRequestsCountAsARate) {
  for (const uint64_t seed : {1, 2, 3}) {
    const FromZero outcome =
        RunFromZero(preset(), /*was_loaded=*/true, seed, WithGatewayUrl(preset()));
    EXPECT_EQ(outcome.before, 0);
    EXPECT_GE(outcome.most, kNeed) << seed;
    EXPECT_LE(outcome.most, 2 * kNeed) << seed;
    ASSERT_TRUE(outcome.until_enough.has_value());
    EXPECT_LE(*outcome.until_enough, kLongestStart + kReaction) << seed;
    EXPECT_EQ(outcome.at_end, 0);
  }
}

TEST_P(GatewayScenario, IfCapacityIsUnknownOneReplicaStartsFirst) {
  const FromZero outcome = RunFromZero(preset(), /*was_loaded=*/false, 1, WithGatewayUrl(preset()));
  EXPECT_LE(outcome.most, 2 * kNeed);
  ASSERT_TRUE(outcome.until_enough.has_value());
  EXPECT_LE(*outcome.until_enough, 2 * kLongestStart) << "the second start follows the first";
  EXPECT_EQ(outcome.at_end, 0);
}

TEST_P(GatewayScenario, ATriggerOnHeldRequestsScalesToTheMaximum) {
  EXPECT_EQ(RunFromZero(preset(), true, 1, {OfEngines(preset()), HeldRecipe(16)}).most, 20);
}

// No queue reaches this target: the trigger activates, but adds no second replica.
TEST_P(GatewayScenario, ATriggerThatOnlyWakesIsSlowerAndOvershoots) {
  const FromZero outcome =
      RunFromZero(preset(), true, 2, {OfEngines(preset()), HeldRecipe(1'000'000)});
  EXPECT_GT(outcome.most, 2 * kNeed);
  ASSERT_TRUE(outcome.until_enough.has_value());
  EXPECT_GT(*outcome.until_enough, kLongestStart + kReaction);
}

}  // namespace
}  // namespace gpuscaler
