#include "scaling/workload_engines.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/engine_workload_builder.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

const absl::Time kLearntAt = absl::FromUnixSeconds(1'767'225'600);

SignalSeries LimitedBy(std::optional<double> learnt, std::optional<double> reported = {},
                       absl::Duration ago = absl::ZeroDuration()) {
  SignalSeries series;
  series.batch = std::make_shared<const EngineBatch>(EngineBatch{
      .reported_limit = reported, .learnt_limit = learnt, .learnt_at = kLearntAt - ago});
  return series;
}

// The batch at each point: so many run and wait.
void SetBatch(SignalSeries& series, double running, double waiting, std::optional<double> learnt) {
  EngineBatch batch{.learnt_limit = learnt, .learnt_at = kLearntAt};
  batch.readings.assign(series.points.size(), {.waiting = waiting, .running = running});
  series.batch = std::make_shared<const EngineBatch>(std::move(batch));
}

TEST(TemplateOf, IsTheReplicaSetInAPodsName) {
  EXPECT_EQ(TemplateOf("llm-7d4b9c8f6d-x7k2p"), "llm-7d4b9c8f6d");
  EXPECT_EQ(TemplateOf("llm-67d9fbc5-x7k2p"), "llm-67d9fbc5");
  EXPECT_EQ(TemplateOf("llm-0"), "");
  EXPECT_EQ(TemplateOf("llm-x7k2p"), "") << "a Job's pod";
  EXPECT_EQ(TemplateOf("llm"), "");
  EXPECT_EQ(TemplateOf(""), "");
}

TEST(SharedLimit, IsTheLargestOfTheNewestTemplateThatIsStillThere) {
  const SignalSeries small = LimitedBy(16);
  const SignalSeries large = LimitedBy(24);
  const SignalSeries other = LimitedBy(64);
  const SignalSeries unknown = LimitedBy(std::nullopt);
  const WorkloadEngine engines[] = {{.series = &small},
                                    {.series = &large},
                                    {.series = &unknown},
                                    {.series = &other, .is_of_newest_template = false},
                                    {.series = &other, .is_present = false}};
  EXPECT_THAT(SharedLimit(engines), Optional(24));
}

TEST(SharedLimit, IsTheLastKnownWhereTheNewestTemplateHasShownNone) {
  const SignalSeries older = LimitedBy(64, {}, absl::Minutes(5));
  const SignalSeries newer = LimitedBy(48, {}, absl::Minutes(1));
  const SignalSeries unknown = LimitedBy(std::nullopt);
  const WorkloadEngine engines[] = {{.series = &older, .is_of_newest_template = false},
                                    {.series = &newer, .is_present = false},
                                    {.series = &unknown}};
  EXPECT_THAT(SharedLimit(engines), Optional(48));
  EXPECT_EQ(SharedLimit({}), std::nullopt);
}

TEST(SharedLimit, AReportedLimitIsItsEnginesAlone) {
  const SignalSeries reports = LimitedBy(32, 128);
  const SignalSeries unknown = LimitedBy(std::nullopt);
  const WorkloadEngine engines[] = {{.series = &reports}, {.series = &unknown}};
  EXPECT_EQ(SharedLimit(engines), std::nullopt);
  Trigger trigger = VllmInference();
  EXPECT_THAT(LimitOf(trigger, reports, 16), Optional(128));
  EXPECT_THAT(LimitOf(trigger, unknown, 16), Optional(16));
  trigger.max_concurrency = 64;
  EXPECT_THAT(LimitOf(trigger, unknown, 16), Optional(64));
  EXPECT_THAT(LimitOf(trigger, reports, 16), Optional(128));
}

// Without it llm-b reads 5 % beside full ones, and the HPA scales in.
TEST(SharedLimit, AReplicaThatNeverQueuedIsMeasuredByTheLimitOfTheOthers) {
  EngineWorkloadBuilder llm({{"llm-a", 104}, {"llm-b", 5}});
  SetBatch(llm.EngineIn("llm-a", 104), 64, 2, 64);
  SetBatch(llm.EngineIn("llm-b", 5), 60, 0, std::nullopt);
  const Decision decision = llm.Decide(VllmInference());
  EXPECT_NEAR(decision.value, 100.0 * 66 / 64 + 100.0 * 60 / 64, 0.001);
  EXPECT_THAT(decision.batch_limit, Optional(64));
  EXPECT_THAT(llm.Explained(VllmInference()), HasSubstr("of the 64 that its workload's engines"));

  Trigger by_hand = VllmInference();
  by_hand.max_concurrency = 128;
  EXPECT_EQ(llm.Decide(by_hand).value, 104 + 5) << "what its reader has computed stays";
}

TEST(SharedLimit, OfAnOlderTemplateItCountsUntilTheNewOneHasShownItsOwn) {
  HeldPod older = LlmPod("llm-7d4b9c8f6d-x7k2p");
  older.listed_since = kLearntAt;
  HeldPod newer = LlmPod("llm-67d9fbc5d5-b2c4d");
  newer.listed_since = kLearntAt + absl::Minutes(1);
  EngineWorkloadBuilder llm(
      FleetBuilder().Hold(absl::Minutes(12), {Node("n-1", {newer}), Node("n-2", {older})}));
  SetBatch(llm.EngineIn(older.name, 100), 64, 1, 64);
  SetBatch(llm.EngineIn(newer.name, 0), 16, 0, std::nullopt);
  EXPECT_THAT(llm.Decide(VllmInference()).batch_limit, Optional(64));
  SetBatch(llm.EngineIn(newer.name, 0), 16, 1, 16);
  EXPECT_THAT(llm.Decide(VllmInference()).batch_limit, Optional(16));
}

}  // namespace
}  // namespace gpuscaler
