#include "lab/demo_scenario.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/demo_triggers.h"

namespace gpuscaler {
namespace {

using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

DemoScenario ScenarioOf(int gpus) {
  return {.load = {.peak = DemoPeak(gpus)}, .service = {.gpus = gpus}, .scaled_object = {}};
}

TEST(DemoScenario, LoadsAtMost85PercentOfTheGpusAndFourEngines) {
  const double one = DemoEngine().requests_per_second;
  EXPECT_DOUBLE_EQ(DemoPeak(3), 2.55 * one);
  EXPECT_DOUBLE_EQ(DemoPeak(8), 4.2 * one);
}

TEST(DemoScenario, EnoughReplicasServeTheWholeLoadSoon) {
  const ScalingCost cost = CostOfStatic(ScenarioOf(8), 5, absl::Minutes(50));
  EXPECT_EQ(cost.unserved, 0);
  EXPECT_GT(cost.served, 9000);
  EXPECT_LT(cost.longest_latency, absl::Minutes(2));
  EXPECT_GT(CostOfStatic(ScenarioOf(8), 3, absl::Minutes(50)).longest_latency, absl::Minutes(5));
}

TEST(DemoTrigger, HasLimitAndGoalOfThePresetIfDemandCounts) {
  const auto inference = DemoTrigger("vllm-inference", 8000, DemoEngine());
  ASSERT_TRUE(inference.ok()) << inference.status();
  EXPECT_THAT(inference->metadata, Contains(Pair("maxConcurrency", "256")));
  EXPECT_THAT(inference->metadata, Contains(Pair("tpotSloMs", "100")));
  const auto requests = DemoTrigger("vllm-requests", 8000, DemoEngine());
  ASSERT_TRUE(requests.ok()) << requests.status();
  EXPECT_THAT(requests->metadata, Contains(Pair("engineEndpoint", "http://llm:8000")));
  EXPECT_THAT(requests->metadata, Not(Contains(Key("tpotSloMs"))));
}

}  // namespace
}  // namespace gpuscaler
