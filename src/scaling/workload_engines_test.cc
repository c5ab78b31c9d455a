#include "scaling/workload_engines.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_engine_workload_builder.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

const absl::Time kLearntAt = absl::FromUnixSeconds(1'767'225'600);

SignalSeries LimitedBy(std::optional<double> learnt, std::optional<double> reported = {},
                       absl::Duration ago = absl::ZeroDuration()) {
  SignalSeries series;
  series.batch = std::make_shared<const EngineBatch>(EngineBatch{
      .reported_limit = reported, .learnt_limit = learnt, .learnt_at = kLearntAt - ago});
  return series;
}

// Sets the batch at each point.
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

TEST(SharedLimit, IsTheLastKnownIfTheNewestTemplateHasShownNone) {
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

// Without the shared limit llm-b reads 5 % beside full ones, and the HPA scales in.
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
  EXPECT_EQ(llm.Decide(by_hand).batch_limit, std::nullopt) << "the learnt limit does not count";
  EXPECT_THAT(llm.Decide(by_hand).batch_limit_known, Optional(true));
}

TEST(BatchLimitKnown, OnlyIfEachEngineHasOne) {
  EngineWorkloadBuilder llm({{"llm-a", 30}, {"llm-b", 5}});
  SetBatch(llm.EngineIn("llm-a", 30), 8, 0, std::nullopt);
  SetBatch(llm.EngineIn("llm-b", 5), 4, 0, std::nullopt);
  for (const DemandUse demand : {DemandUse::kOn, DemandUse::kObserve, DemandUse::kOff}) {
    Trigger trigger = VllmInference();
    trigger.demand = demand;
    EXPECT_THAT(llm.Decide(trigger).batch_limit_known, Optional(false));
    trigger.max_concurrency = 64;
    EXPECT_THAT(llm.Decide(trigger).batch_limit_known, Optional(true));
  }
  SetBatch(llm.EngineIn("llm-b", 5), 4, 1, 16);
  EXPECT_THAT(llm.Decide(VllmInference()).batch_limit_known, Optional(true)) << "they share it";
  EXPECT_EQ(llm.Decide(InFlight()).batch_limit_known, std::nullopt) << "no pressure";
}

TEST(BatchLimitKnown, ALimitThatOneEngineReportsDoesNotApplyToOthers) {
  EngineWorkloadBuilder llm({{"llm-a", 30}, {"llm-b", 5}});
  for (const char* pod : {"llm-a", "llm-b"}) {
    SignalSeries& engine = llm.EngineIn(pod, 5);
    EngineBatch batch{.reported_limit = 64};
    if (pod == std::string("llm-b")) batch.reported_limit.reset();
    batch.readings.assign(engine.points.size(), {.waiting = 0, .running = 4});
    engine.batch = std::make_shared<const EngineBatch>(std::move(batch));
  }
  EXPECT_THAT(llm.Decide(VllmInference()).batch_limit_known, Optional(false));
}

TEST(SharedLimit, LimitOfAnOlderTemplateCountsUntilTheNewOneHasShownItsOwn) {
  GpuPod older = LlmPod("llm-7d4b9c8f6d-x7k2p");
  older.listed_since = kLearntAt;
  GpuPod newer = LlmPod("llm-67d9fbc5d5-b2c4d");
  newer.listed_since = kLearntAt + absl::Minutes(1);
  EngineWorkloadBuilder llm(
      FleetBuilder().RepeatFor(absl::Minutes(12), {Node("n-1", {newer}), Node("n-2", {older})}));
  SetBatch(llm.EngineIn(older.name, 100), 64, 1, 64);
  SetBatch(llm.EngineIn(newer.name, 0), 16, 0, std::nullopt);
  EXPECT_THAT(llm.Decide(VllmInference()).batch_limit, Optional(64));
  SetBatch(llm.EngineIn(newer.name, 0), 16, 1, 16);
  EXPECT_THAT(llm.Decide(VllmInference()).batch_limit, Optional(16));
}

// Kept() returns the pods of what AddRecords() adds, besides the present one. "!" marks those that
// are not of the newest template.
class RecordsTest : public testing::Test {
 protected:
  void Record(const std::string& pod, const std::string& models, const std::string& gpu_model) {
    auto series = std::make_shared<SignalSeries>(SignalSeries{.pod = pod});
    series->models = models;
    series->gpu_model = gpu_model;
    series->demand = std::make_shared<const EngineDemand>(
        EngineDemand{.newest_at = kLearntAt + absl::Minutes(static_cast<double>(records_.size()))});
    records_.push_back(std::move(series));
  }
  std::vector<std::string> Kept(std::optional<SignalSeries> present = std::nullopt,
                                const std::string& present_gpu = "") {
    std::vector<Replica> replicas;
    const Pod pod{.name = present.has_value() ? present->pod : ""};
    if (present.has_value()) {
      replicas.push_back({.gpu_uuids = {"GPU-0"}, .present = true, .pods = {&pod}});
    }
    auto history = std::make_shared<NodeHistory>();
    NodeSnapshot snapshot;
    snapshot.gpus = {{.uuid = "GPU-0", .name = present_gpu}};
    history->Append(snapshot, {});
    const FleetHistory fleet = FleetOfOne(history);
    WorkloadEngines engines(fleet, replicas, true);
    if (present.has_value()) engines.AddPresent(*present, &replicas.front());
    std::vector<const SignalSeries*> all;
    for (const auto& series : records_) all.push_back(series.get());
    engines.AddRecords(all);
    std::vector<std::string> kept;
    for (const WorkloadEngine& engine : std::move(engines).Take()) {
      if (engine.is_present) continue;
      kept.push_back((engine.is_of_newest_template ? "" : "!") + engine.series->pod);
    }
    return kept;
  }

  static inline const std::string kOld = "llm-7d4b9c8f6d-x7k2p";
  static inline const std::string kNew = "llm-67d9fbc5-x7k2p";

 private:
  std::vector<std::shared_ptr<const SignalSeries>> records_;
};

TEST_F(RecordsTest, AtZeroReplicasTheEngineThatLeftLastSelectsRecords) {
  Record("llm-a", "mistral", "H100");
  Record("llm-b", "llama", "A100");
  Record(kOld, "llama", "H100");
  Record(kNew, "llama", "H100");
  EXPECT_THAT(Kept(), ElementsAre("!" + kOld, kNew));
}

TEST_F(RecordsTest, RecordsOfAnotherModelAreDropped) {
  Record(kOld, "llama", "H100");
  SignalSeries present{.pod = kOld};
  EXPECT_THAT(Kept(present, "H100"), ElementsAre(kOld)) << "which it serves is not known yet";
  present.models = "llama";
  EXPECT_THAT(Kept(present, "H100"), ElementsAre(kOld));
  present.models = "mistral";
  EXPECT_THAT(Kept(present, "H100"), IsEmpty());
}

TEST_F(RecordsTest, RecordsOfAnotherGpuModelAreDropped) {
  Record(kOld, "llama", "H100");
  EXPECT_THAT(Kept(SignalSeries{.pod = kOld}, "H100"), ElementsAre(kOld));
  EXPECT_THAT(Kept(SignalSeries{.pod = kOld}, "B200"), IsEmpty());
}

// An engine at an address of a name: neither its pod nor its GPU is known.
TEST_F(RecordsTest, AnEngineOfNoKnownPodRanOnTheGpusOfTheOthers) {
  Record("", "llama", "");
  EXPECT_THAT(Kept(), ElementsAre(""));
  SignalSeries present{.pod = kNew, .models = "llama"};
  EXPECT_THAT(Kept(present, "H100"), ElementsAre(""));
  present.models = "mistral";
  EXPECT_THAT(Kept(present, "H100"), IsEmpty());
}

TEST_F(RecordsTest, AnotherTemplateCountsUntilTheNewestHasShownEnough) {
  Record(kOld, "llama", "H100");
  EXPECT_THAT(Kept(SignalSeries{.pod = kNew}, "H100"), ElementsAre("!" + kOld));
}

}  // namespace
}  // namespace gpuscaler
