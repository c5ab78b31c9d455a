// Profiles that count the pressure of engines, and the fallback to GPUs.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/test_engine_workload_builder.h"

namespace gpuscaler {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(EnginePressure, APressureProfileCountsItsEnginesPressureUpToTwiceTheTarget) {
  const EngineWorkloadBuilder busy({{"llm-a", 100}, {"llm-b", 900}});
  const Decision decision = busy.Decide(VllmInference());
  EXPECT_EQ(decision.value, 100 + 2 * 80);
  EXPECT_FALSE(decision.saturation_unknown);

  const Decision idle = EngineWorkloadBuilder({{"llm-a", 0}, {"llm-b", 0}}).Decide(VllmInference());
  EXPECT_EQ(idle.value, 0);
  EXPECT_FALSE(idle.active) << idle.active_because;
}

// 1 running and 60 waiting without a known limit.
TEST(EnginePressure, ThePressureAsAMetricCountsTwiceTheTargetAtMostToo) {
  Trigger trigger = InFlight(80);
  trigger.metric = MetricType::kEnginePressure;
  trigger.aggregation = Aggregation::kMax;
  EXPECT_EQ(EngineWorkloadBuilder({{"llm-a", 6010}, {"llm-b", 100}}).Decide(trigger).value,
            2 * 80 + 100);
}

TEST(EnginePressure, AnEngineThatServesAFewIsNotTakenToZero) {
  const auto decide = [](const Trigger& trigger, double pressure, double gpu_load) {
    return EngineWorkloadBuilder({{"llm-a", pressure}}, gpu_load).Decide(trigger);
  };
  const Decision few = decide(VllmInference(), 3, 60);  // two requests of 64
  EXPECT_TRUE(few.active) << few.active_because;
  EXPECT_THAT(few.active_because, HasSubstr("llm-a served requests within 2m"));
  EXPECT_EQ(few.value, 3);
  EXPECT_FALSE(decide(VllmInference(), 0, 60).active);
  EXPECT_FALSE(decide(VllmInference(), 3, 0).active) << "a cache that is kept is no request";
  Trigger by_hand = VllmInference();
  by_hand.activation_threshold_given = true;
  EXPECT_FALSE(decide(by_hand, 3, 60).active);

  EngineWorkloadBuilder llm({{"llm-a"}, {"llm-b"}});
  llm.EngineAt("10.1.0.7", 3);
  llm.EngineAt("10.1.0.8", 0);
  EXPECT_TRUE(llm.Decide(Named(VllmInference())).active) << "its GPUs are not known";
}

TEST(EnginePressure, FallbackToGpusNamesTheReason) {
  EngineWorkloadBuilder llm({{"llm-a"}});
  llm.SetWithoutEngine(
      {{.namespace_name = "team-a", .pod = "llm-a", .why = "it listens at 127.0.0.1:8000 alone"}});
  const Decision decision = llm.Decide(VllmInference());
  EXPECT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_THAT(decision.notes,
              Contains("no engine is found in llm-a: it listens at 127.0.0.1:8000 alone"));
}

TEST(EnginePressure, AnUnreadableEngineBesideReadableOnesCountsTheTarget) {
  const EngineWorkloadBuilder llm({{"llm-a", 50}, {"llm-b"}});
  EXPECT_EQ(llm.Decide(VllmInference()).value, 50 + 80);
}

TEST(EnginePressure, TheFallbackAppliesOnceNoEngineWasReadForForgetAfter) {
  EngineWorkloadBuilder llm({{"llm-a", 50}}, 60);
  llm.ChangeEngineIn("llm-a", absl::Minutes(4), std::nullopt);
  const Decision silent = llm.Decide(VllmInference());
  EXPECT_EQ(silent.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_LE(silent.active_until, llm.now() + absl::Minutes(1));

  llm.ChangeEngineIn("llm-a", absl::Minutes(6), std::nullopt);
  const Decision fallback = llm.Decide(VllmInference());
  EXPECT_TRUE(fallback.status.ok()) << fallback.status;
  EXPECT_EQ(fallback.value, 60);
  EXPECT_TRUE(fallback.saturation_unknown);

  llm.signals().series.clear();
  EXPECT_EQ(llm.Decide(VllmInference()).value, 60) << "it is known to have none";
  EXPECT_EQ(llm.DecideWithoutSignals(VllmInference()).value, 60);
}

// Recreate strategy: GPUs do not show that engines load, however long that takes.
TEST(EnginePressure, EnginesCountWhileAllReplicasMayStillStart) {
  const auto explained = [](absl::Duration since, std::optional<bool> ready) {
    NodeSnapshot node = Node("n", {LlmPod("llm-b", 100)});
    node.pods[0].ready = false;
    FleetBuilder nodes = FleetBuilder()
                             .RepeatFor(absl::Minutes(1), {Node("n", {})})
                             .RepeatFor(since - absl::Minutes(1), {node});
    node.pods[0].ready = ready;
    EngineWorkloadBuilder llm(nodes.RepeatFor(absl::Minutes(1), {node}));
    auto record = std::make_shared<SignalSeries>(SignalSeries{.pod = "llm-a"});
    record->pod_with_owners =
        std::make_shared<const Pod>(Pod{.namespace_name = "team-a",
                                        .name = "llm-a",
                                        .owners = node.pods[0].owners,
                                        .owners_from = Pod::OwnersFrom::kReferences});
    record->batch = std::make_shared<const EngineBatch>();
    record->demand = std::make_shared<const EngineDemand>(EngineDemand{
        .first_at = absl::InfinitePast(), .newest_at = llm.now() - since - absl::Seconds(10)});
    llm.signals().capacity_records = {record};
    return llm.Explained(VllmInference());
  };
  const auto by_engines = HasSubstr("pods of Deployment/llm, by their engines");
  EXPECT_THAT(explained(absl::Minutes(7), false), by_engines);
  EXPECT_THAT(explained(absl::Minutes(29), false), by_engines);
  EXPECT_THAT(explained(absl::Minutes(31), false), Not(by_engines)) << "no start takes so long";
  EXPECT_THAT(explained(absl::Minutes(7), true), Not(by_engines)) << "it is Ready";
}

// A saturated vLLM fails its readiness probe for a moment. It still has an engine.
TEST(EnginePressure, ANameWithoutAddressIsNoFallbackWhileOneOfItsEnginesWasReadWithinForgetAfter) {
  const auto llm_with = [](std::optional<bool> ready, absl::Duration left_ago) {
    NodeSnapshot node = Node("n", {LlmPod("llm-a", 100)});
    node.pods[0].address = "10.1.0.7";
    node.pods[0].ready = ready;
    FleetBuilder nodes = FleetBuilder().RepeatFor(absl::Minutes(12), {node});
    if (ready == true) node.pods[0].ready = false;
    EngineWorkloadBuilder llm(nodes.RepeatFor(absl::Seconds(14), {node}));
    llm.EngineAt("10.1.0.7", 50);
    llm.Unlist("vllm at 10.1.0.7", left_ago);
    return llm;
  };
  const Trigger trigger = Named(VllmInference());
  for (const std::optional<bool> ready : {std::optional(true), std::optional<bool>()}) {
    const EngineWorkloadBuilder llm = llm_with(ready, absl::Seconds(13));
    const Decision silent = llm.Decide(trigger);
    EXPECT_EQ(silent.status.code(), absl::StatusCode::kUnavailable) << silent.value;
    EXPECT_THAT(std::string(silent.status.message()), HasSubstr("llm:8000 has no address"));
    EXPECT_LE(silent.active_until, llm.now() + absl::Seconds(287)) << "the fallback applies then";
  }

  const Decision loading = llm_with(false, absl::Seconds(13)).Decide(trigger);
  ASSERT_TRUE(loading.status.ok()) << loading.status;
  EXPECT_EQ(loading.value, 50) << "what its engine reported";
  EXPECT_EQ(loading.starting, 1);
  EXPECT_TRUE(loading.active);

  const Decision fallback = llm_with(true, absl::Minutes(6)).Decide(trigger);
  ASSERT_TRUE(fallback.status.ok()) << fallback.status;
  EXPECT_EQ(fallback.value, 100);
  EXPECT_TRUE(fallback.saturation_unknown);
}

TEST(EnginePressure, WithoutOwnersPressureReadWithinForgetAfterIsUnknownWhileGpusAreInUse) {
  const auto decide = [](const GpuSample& gpu, absl::Duration left_ago) {
    HistoryBuilder gpus;
    gpus.RepeatFor(absl::Minutes(12), {gpu});
    SignalBuilder engines(gpus.now());
    engines.RepeatFor("vllm at 10.1.0.7", absl::Minutes(12), 50).address = "10.1.0.7";
    engines.Unlist("vllm at 10.1.0.7", left_ago);
    return Decide(Named(VllmInference()), {.namespace_name = "team-a", .name = "llm"}, gpus.fleet(),
                  &engines.history(), kStaleness);
  };
  const Decision in_use = decide(BusyGpu(0, 100, 90), absl::Minutes(4));
  EXPECT_EQ(in_use.status.code(), absl::StatusCode::kUnavailable) << in_use.value;
  EXPECT_EQ(in_use.status.message(),
            "http://llm:8000 has no address: no pod is Ready behind it, or the name is another; "
            "and GPUs are in use");
  EXPECT_LE(in_use.active_until, in_use.taken_at + absl::Minutes(1));
  EXPECT_EQ(decide(BusyGpu(0, 100, 90), absl::Minutes(6)).value, 100) << "by its GPUs";

  const Decision idle = decide(FreeGpu(0), absl::Minutes(4));
  ASSERT_TRUE(idle.status.ok()) << idle.status;
  EXPECT_EQ(idle.value, 0);
  EXPECT_FALSE(idle.active) << idle.active_because;
}

TEST(EnginePressure, APressureNamesItsReference) {
  EngineWorkloadBuilder llm({{"llm-a", 50}});
  llm.EngineIn("llm-a", 50).pressure_basis = "of maxConcurrency 64";
  EXPECT_EQ(llm.Decide(VllmInference()).contributions[0].because,
            "its engine's pressure, of maxConcurrency 64");
}

}  // namespace
}  // namespace gpuscaler
