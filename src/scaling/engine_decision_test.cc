#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/test_engine_workload_builder.h"

namespace gpuscaler {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

using State = Contribution::State;

TEST(EngineDecision, RequestsOfAllReplicasAddUpAndValueIsTheirAverage) {
  const EngineWorkloadBuilder llm({{"llm-a", 4}, {"llm-b", 8}, {"llm-c", 12}, {"llm-d", 16}});
  const Decision decision = llm.Decide(InFlight());
  ASSERT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 40);
  EXPECT_EQ(decision.replicas, 4);
  EXPECT_TRUE(decision.active);
  EXPECT_THAT(decision.replicas_from, HasSubstr("by their engines"));

  Trigger value = InFlight();
  value.target_type = TargetType::kValue;
  EXPECT_EQ(llm.Decide(value).value, 10);
}

TEST(EngineDecision, EnginesOfOtherPodsDoNotCount) {
  EngineWorkloadBuilder llm({{"llm-a", 4}});
  llm.EngineIn("other-a", 50);
  EXPECT_EQ(llm.Decide(InFlight()).value, 4);
}

TEST(EngineDecision, SeveralEnginesOfAPodAddUpOrTheFullestCounts) {
  EngineWorkloadBuilder llm({{"llm-a", 4}});
  SignalSeries second = llm.signals().series.front();
  second.name = "another";
  for (SignalPoint& point : second.points) point.value = 30;
  llm.signals().series.push_back(second);
  EXPECT_EQ(llm.Decide(InFlight()).value, 34);
  Trigger fullest = InFlight(80);
  fullest.metric = MetricType::kKvCacheUsagePercent;
  fullest.aggregation = Aggregation::kMax;
  EXPECT_EQ(llm.Decide(fullest).value, 30);
}

TEST(EngineDecision, AnUnreadableEngineCountsTheTarget) {
  EngineWorkloadBuilder llm({{"llm-a", 40}, {"llm-b", 7}});
  llm.ChangeEngineIn("llm-b", absl::Seconds(20), std::nullopt);
  const Decision decision = llm.Decide(InFlight());
  EXPECT_EQ(decision.value, 50);
  EXPECT_EQ(decision.unreadable, 1);
  EXPECT_THAT(StatesOf(decision), Contains(State::kUnreadable));
  EXPECT_THAT(llm.Explained(InFlight()), HasSubstr("unreadable for 21s: connection refused"));
}

TEST(EngineDecision, NoReadableEngineIsUnavailableNotZero) {
  EngineWorkloadBuilder llm({{"llm-a"}, {"llm-b"}});
  llm.EngineIn("llm-a", std::nullopt);
  const Decision decision = llm.Decide(InFlight());
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable) << decision.status;

  EXPECT_EQ(llm.DecideWithoutSignals(InFlight()).status.code(), absl::StatusCode::kUnavailable);
  llm.signals().status = absl::UnavailableError("not known yet");
  EXPECT_EQ(llm.Decide(InFlight()).status, llm.signals().status);
}

TEST(EngineDecision, ReasonWhyNoEngineIsFoundIsReported) {
  EngineWorkloadBuilder llm({{"llm-a"}, {"llm-b", 7}});
  llm.SetWithoutEngine(
      {{.namespace_name = "team-b", .pod = "llm-a", .why = "of another"},
       {.namespace_name = "team-a", .pod = "llm-a", .why = "nothing listens in its network yet"}});
  EXPECT_THAT(llm.Explained(InFlight()),
              HasSubstr("no engine is found in it: nothing listens in its network yet"));
  llm.SetWithoutEngine({{.node = "n-llm-a", .why = "its agent does not look for engines"}});
  EXPECT_THAT(llm.Explained(InFlight()),
              HasSubstr("no engine is found in it: its agent does not look for engines"));
}

TEST(EngineDecision, WithoutPodsAndEnginesItIsIdle) {
  EngineWorkloadBuilder llm(FleetBuilder().RepeatFor(kLong, {Node("n", {})}));
  llm.signals().read_since = llm.now() - kLong;
  const Decision decision = llm.Decide(InFlight());
  EXPECT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 0);
  EXPECT_FALSE(decision.active);
}

TEST(EngineDecision, WithoutOwnersTheEnginesAreTheReplicas) {
  HistoryBuilder gpus;
  gpus.RepeatFor(kLong, {BusyGpu(0, 60, 90), BusyGpu(1, 60, 90)});
  SignalBuilder engines(gpus.now());
  const auto decide = [&](const Trigger& trigger) {
    return Decide(trigger, {.namespace_name = "team-a", .name = "llm"}, gpus.fleet(),
                  &engines.history(), kStaleness);
  };
  engines.history().status = absl::UnavailableError("not known yet");
  EXPECT_EQ(decide(InFlight()).status, engines.history().status);
  EXPECT_GT(decide(VllmInference()).value, 0) << "by its GPUs";
  engines.history().status = absl::OkStatus();
  engines.RepeatFor("vllm at 10.1.0.7", kLong, 12).address = "10.1.0.7";
  EXPECT_EQ(decide(InFlight()).value, 12);
  EXPECT_EQ(decide(VllmInference()).value, 12);
  EXPECT_EQ(decide(VllmInference()).replicas, 1);
}

// A GPU in use may be that of the named engine.
TEST(EngineDecision, WithoutOwnersANameWithoutAddressIsUnknownWhileGpusAreInUse) {
  const auto decide = [](const GpuSample& gpu, const Trigger& trigger) {
    HistoryBuilder gpus;
    gpus.RepeatFor(kLong, {gpu});
    SignalBuilder engines(gpus.now());
    engines.history().read_since = gpus.now() - kLong;
    return Decide(trigger, {.namespace_name = "team-a", .name = "llm"}, gpus.fleet(),
                  &engines.history(), kStaleness);
  };
  const Decision in_use = decide(BusyGpu(0, 100, 90), Named(InFlight()));
  EXPECT_EQ(in_use.status.code(), absl::StatusCode::kUnavailable) << in_use.status;
  EXPECT_THAT(std::string(in_use.status.message()), HasSubstr("http://llm:8000 has no address"));
  EXPECT_FALSE(decide(BusyGpu(0, 0, 90), Named(InFlight())).status.ok()) << "it may start";

  const Decision idle = decide(FreeGpu(0), Named(InFlight()));
  ASSERT_TRUE(idle.status.ok()) << idle.status;
  EXPECT_EQ(idle.value, 0);
  EXPECT_FALSE(idle.active) << idle.active_because;
  EXPECT_THAT(idle.notes, Contains(HasSubstr("http://llm:8000 has no address")));

  const Decision pressure = decide(BusyGpu(0, 60, 90), Named(VllmInference()));
  EXPECT_EQ(pressure.value, 60) << "by its GPUs: " << pressure.status;
  EXPECT_THAT(pressure.notes, Contains(HasSubstr("http://llm:8000 has no address")));
}

// The engine that uses the GPU is not found, and it may be the workload's.
TEST(EngineDecision, WithoutOwnersEnginesOfWhichNoneIsFoundAreUnknownWhileGpusAreInUse) {
  const auto decide = [](const GpuSample& gpu, const Trigger& trigger) {
    HistoryBuilder gpus;
    gpus.RepeatFor(kLong, {gpu});
    SignalBuilder engines(gpus.now());
    engines.history().read_since = gpus.now() - kLong;
    engines.history().missing_engines = std::make_shared<const std::vector<MissingEngine>>(
        std::vector<MissingEngine>{{.node = "n", .why = "its agent does not look for engines"}});
    return Decide(trigger, {.namespace_name = "team-a", .name = "llm"}, gpus.fleet(),
                  &engines.history(), kStaleness);
  };
  const Decision in_use = decide(BusyGpu(0, 100, 90), InFlight());
  EXPECT_EQ(in_use.status.code(), absl::StatusCode::kUnavailable) << in_use.value;
  EXPECT_EQ(in_use.status.message(),
            "no engine is found (node n: its agent does not look for engines); and GPUs are in "
            "use");
  EXPECT_FALSE(decide(BusyGpu(0, 0, 90), InFlight()).status.ok()) << "it may start";

  const Decision idle = decide(FreeGpu(0), InFlight());
  ASSERT_TRUE(idle.status.ok()) << idle.status;
  EXPECT_EQ(idle.value, 0);
  EXPECT_FALSE(idle.active) << idle.active_because;

  EXPECT_EQ(decide(BusyGpu(0, 60, 90), VllmInference()).value, 60) << "by its GPUs";
}

TEST(EngineDecision, GpusOfInvisiblePodsHideNoEngine) {
  Trigger trigger = InFlight();
  trigger.scope = Scope::kFleet;
  GpuPod pod = LlmPod("llm-a");
  const auto status = [&] {
    EngineWorkloadBuilder llm(FleetBuilder().RepeatFor(kLong, {Node("n", {pod})}));
    llm.signals().read_since = llm.now() - kLong;
    return llm.Decide(trigger).status;
  };
  EXPECT_EQ(status().message(), "no engine is found; and GPUs are in use");
  pod.owner.clear();
  EXPECT_EQ(status().code(), absl::StatusCode::kUnavailable)
      << "also held by a pod without an owner";
  pod.namespace_name = "team-b";
  EXPECT_TRUE(status().ok()) << status();
}

// After its kubelet restarts, a pod is not Ready for seconds, and a headless Service omits it.
TEST(EngineDecision, APodThatWasReadyAndDoesNotEndKeepsCountingWhileItIsNotListed) {
  NodeSnapshot node = Node("n", {LlmPod("llm-a"), LlmPod("llm-b")});
  node.pods[0].address = "10.1.0.7";
  node.pods[1].address = "10.1.0.8";
  node.pods[1].is_terminating = false;
  node.pods[1].ready = node.pods[1].was_ready = true;
  FleetBuilder nodes = FleetBuilder().RepeatFor(kLong, {node});
  node.pods[1].ready = false;
  EngineWorkloadBuilder llm(nodes.RepeatFor(absl::Seconds(20), {node}));
  llm.EngineAt("10.1.0.7", 4);
  const Decision decision = llm.Decide(Named(InFlight()));
  EXPECT_EQ(decision.value, 4 + 10);
  EXPECT_EQ(decision.replicas, 2);
  EXPECT_EQ(decision.terminating, 0);
  EXPECT_EQ(decision.held_because, "");
}

// The Service lists the other pod. A pod that ends serves no client, and one that does not may be
// busy.
TEST(EngineDecision, AReadyUnlistedPodCountsTheTargetOnceItIsKnownNotToEnd) {
  const auto decide = [](std::optional<bool> ready, std::optional<bool> is_terminating) {
    NodeSnapshot node = Node("n", {LlmPod("llm-a"), LlmPod("llm-b")});
    node.pods[0].address = "10.1.0.7";
    node.pods[1].address = "10.1.0.8";
    node.pods[1].ready = true;
    node.pods[1].is_terminating = false;
    FleetBuilder nodes = FleetBuilder().RepeatFor(kLong, {node});
    node.pods[1].ready = ready;
    node.pods[1].is_terminating = is_terminating;
    EngineWorkloadBuilder llm(nodes.RepeatFor(absl::Seconds(20), {node}));
    llm.EngineAt("10.1.0.7", 4);
    return llm.Decide(Named(InFlight()));
  };
  const Decision silent = decide(true, false);
  EXPECT_EQ(silent.value, 4 + 10);
  EXPECT_EQ(silent.unreadable, 1);
  EXPECT_THAT(silent.notes, Contains(HasSubstr("llm-b (it is not at http://llm:8000)")));

  const std::vector<std::pair<std::optional<bool>, std::optional<bool>>> unknown_or_not_to_serve = {
      {true, true}, {true, std::nullopt}, {false, false}};
  for (const auto& [ready, is_terminating] : unknown_or_not_to_serve) {
    const Decision decision = decide(ready, is_terminating);
    EXPECT_EQ(decision.value, 4);
    EXPECT_EQ(decision.terminating, 1) << "it was Ready, and does not start again";
    EXPECT_EQ(decision.starting, 0);
  }
}

// The kubelets report no addresses: Kubernetes before 1.37.
TEST(EngineDecision, PodsThatMayBeBehindOneAddressCountTheTarget) {
  EngineWorkloadBuilder llm({{"llm-a"}, {"llm-b"}, {"llm-c"}});
  llm.EngineAt("10.96.0.1", 7);
  const Trigger trigger = Named(InFlight());
  const Decision decision = llm.Decide(trigger);
  ASSERT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 7 + 2 * 10);
  EXPECT_EQ(decision.replicas, 3);
  EXPECT_EQ(decision.unreadable, 2);
  EXPECT_THAT(Explain(trigger, decision), HasSubstr("clusterIP: None"));

  llm.EngineAt("10.96.0.2", 7);
  EXPECT_EQ(llm.Decide(trigger).replicas, 2) << "the third is not Ready";
}

// The kubelet does not report readiness: Kubernetes before 1.37.
TEST(EngineDecision, AReplicaStartsUntilItsEngineIsFoundIfOthersAre) {
  FleetBuilder grown;
  grown.RepeatFor(kLong, {Node("n-llm-a", {LlmPod("llm-a")}), Node("n-llm-b", {})});
  grown.RepeatFor(absl::Minutes(6),
                  {Node("n-llm-a", {LlmPod("llm-a")}), Node("n-llm-b", {LlmPod("llm-b")})});
  EngineWorkloadBuilder llm(grown);
  llm.EngineIn("llm-a", 40);
  Trigger trigger = InFlight();
  trigger.warmup = absl::Seconds(300);
  EXPECT_EQ(llm.Decide(trigger).value, 40);
  EXPECT_EQ(llm.Decide(trigger).starting, 1);
  llm.signals().read_since = llm.now() - absl::Minutes(1);
  EXPECT_EQ(llm.Decide(trigger).value, 40) << "of an aggregator that has just restarted too";
  llm.SetWithoutEngine({{.node = "n-llm-b", .why = "its agent does not look for engines"}});
  EXPECT_EQ(llm.Decide(trigger).value, 40 + 10) << "whether it started is not known";
}

TEST(EngineDecision, AReplicaWithAnEngineThatAnsweredNeverStartsAgain) {
  FleetBuilder grown;
  grown.RepeatFor(kLong, {Node("n-llm-a", {LlmPod("llm-a")}), Node("n-llm-b", {})});
  grown.RepeatFor(absl::Minutes(6),
                  {Node("n-llm-a", {LlmPod("llm-a")}), Node("n-llm-b", {LlmPod("llm-b")})});
  Trigger trigger = InFlight();
  trigger.warmup = absl::Seconds(300);
  EngineWorkloadBuilder llm(grown);
  llm.EngineIn("llm-a", 40);
  llm.EngineIn("llm-b", 30, absl::Minutes(4));
  llm.Unlist("vllm at llm-b", absl::Minutes(1));
  EXPECT_EQ(llm.Decide(trigger).value, 40 + 10) << "it cannot be read";
  EXPECT_EQ(llm.Decide(trigger).starting, 0);
  llm.Unlist("vllm at llm-a", absl::Minutes(1));
  EXPECT_FALSE(llm.Decide(trigger).status.ok()) << "no replica can be read: never 0";
}

// Overload fails every readiness probe, so the headless Service has no address left.
TEST(EngineDecision, ReplicasWithoutAKnownAddressThatServedAreNotIdle) {
  FleetBuilder grown;
  grown.RepeatFor(kLong, {Node("n-llm-a", {}), Node("n-llm-b", {})});
  grown.RepeatFor(absl::Minutes(12),
                  {Node("n-llm-a", {LlmPod("llm-a")}), Node("n-llm-b", {LlmPod("llm-b")})});
  EngineWorkloadBuilder llm(grown);
  llm.EngineAt("10.1.0.7", 40);
  llm.EngineAt("10.1.0.8", 40);
  llm.Unlist("vllm at 10.1.0.7", absl::Minutes(1));
  llm.Unlist("vllm at 10.1.0.8", absl::Minutes(1));
  EXPECT_EQ(llm.Decide(Named(InFlight())).starting, 0);
  EXPECT_FALSE(llm.Decide(Named(InFlight())).status.ok());
}

TEST(EngineDecision, AYoungReplicaIsStartingUntilItsEngineAnswers) {
  // The second node has no history from before the pod.
  FleetBuilder grown;
  grown.RepeatFor(kLong, {Node("n-llm-a", {LlmPod("llm-a")}), Node("n-llm-b", {})});
  grown.RepeatFor(absl::Minutes(2),
                  {Node("n-llm-a", {LlmPod("llm-a")}), Node("n-llm-b", {LlmPod("llm-b")})});
  EngineWorkloadBuilder llm(grown);
  llm.EngineIn("llm-a", 40);
  llm.EngineIn("llm-b", std::nullopt, absl::Seconds(100));
  Trigger trigger = InFlight();
  trigger.warmup = absl::Seconds(300);
  const Decision decision = llm.Decide(trigger);
  EXPECT_EQ(decision.value, 40);
  EXPECT_EQ(decision.replicas, 1);
  EXPECT_EQ(decision.starting, 1);
  EXPECT_THAT(Explain(trigger, decision),
              HasSubstr("more, and its engine has not answered: connection refused"));
  trigger.warmup = absl::Seconds(90);
  EXPECT_EQ(llm.Decide(trigger).value, 40 + 10) << "whether it is Ready is not known";
  trigger.warmup = absl::Seconds(300);

  llm.ChangeEngineIn("llm-b", absl::Seconds(3), 5);
  EXPECT_EQ(llm.Decide(trigger).replicas, 2);
  EXPECT_EQ(llm.Decide(trigger).value, 40 + 5 * 3 / 15.0) << "3 s of 15";
}

// Two replicas. The younger llm-b was not Ready for a minute, and then `ready` for `since`.
EngineWorkloadBuilder WithYoung(std::optional<bool> ready,
                                absl::Duration since = absl::Minutes(1)) {
  const auto nodes = [](std::optional<bool> b_ready) {
    NodeSnapshot a = Node("n-llm-a", {LlmPod("llm-a")});
    NodeSnapshot b = Node("n-llm-b", {LlmPod("llm-b", 100)});
    a.pods[0].ready = true;
    b.pods[0].ready = b_ready;
    return std::vector<NodeSnapshot>{a, b};
  };
  FleetBuilder grown;
  grown.RepeatFor(kLong, {nodes(true)[0], Node("n-llm-b", {})});
  grown.RepeatFor(absl::Minutes(1), nodes(false));
  grown.RepeatFor(since, nodes(ready));
  return EngineWorkloadBuilder(grown);
}

// Its engine is read for the first time a moment later. One more target in between would mean one
// more replica for the next 5 minutes.
TEST(EngineDecision, APodThatHasJustBecomeReadyStartsUntilItsFirstReadingIsLate) {
  for (const auto& [since, replicas, value] :
       {std::tuple(absl::Seconds(3), 1, 40.0), std::tuple(absl::Seconds(8), 2, 40.0 + 10)}) {
    EngineWorkloadBuilder llm = WithYoung(true, since);
    llm.EngineIn("llm-a", 40);
    const Decision decision = llm.Decide(InFlight());
    EXPECT_EQ(decision.replicas, replicas) << since;
    EXPECT_EQ(decision.value, value) << since;
    EXPECT_TRUE(decision.active);
  }
}

TEST(EngineDecision, ANotReadyPodIsStartingAndAReadyUnreadablePodCountsTheTarget) {
  EngineWorkloadBuilder not_ready = WithYoung(false);
  not_ready.EngineIn("llm-a", 40);
  not_ready.EngineIn("llm-b", std::nullopt);
  const Decision decision = not_ready.Decide(InFlight());
  EXPECT_EQ(decision.value, 40);
  EXPECT_EQ(decision.starting, 1);
  EXPECT_THAT(not_ready.Explained(InFlight()),
              HasSubstr("not Ready yet, and its engine has not answered: connection refused"));
  not_ready.ChangeEngineIn("llm-b", absl::Seconds(3), 5);
  EXPECT_EQ(not_ready.Decide(InFlight()).replicas, 2) << "it answers";
  EXPECT_EQ(not_ready.Decide(InFlight()).value, 40 + 5 * 3 / 15.0) << "3 s of 15";

  EngineWorkloadBuilder llm = WithYoung(true);
  llm.EngineIn("llm-a", 40);
  llm.EngineIn("llm-b", std::nullopt);
  const Decision silent = llm.Decide(InFlight());
  EXPECT_EQ(silent.value, 40 + 10);
  EXPECT_EQ(silent.unreadable, 1);
  EXPECT_THAT(silent.notes,
              Contains("no number from the engines of 1 replica: llm-b (connection refused)"));
  llm.EngineIn("llm-a", 50);
  EXPECT_EQ(llm.Decide(Named(VllmInference())).value, 50 + 80);
}

// Two aggregators may begin to read a few seconds apart.
TEST(EngineDecision, WhenReadingBeganDoesNotMatterOnceAPodBecameReady) {
  for (const absl::Duration read_for : {absl::Seconds(11), absl::Minutes(12)}) {
    EngineWorkloadBuilder llm = WithYoung(true, absl::Seconds(10));
    llm.EngineIn("llm-a", 40);
    llm.EngineIn("llm-b", 15, absl::Seconds(9));
    llm.signals().read_since = llm.now() - read_for;
    EXPECT_NEAR(llm.Decide(InFlight()).value, 40 + 15 * 9 / 15.0, 0.01) << read_for;
  }
}

// A rollout of pods with metrics endpoints that cannot be read.
TEST(EngineDecision, ReadyPodsWithoutAnyAnsweringEngineAreUnavailableNotZero) {
  EngineWorkloadBuilder llm = WithYoung(true);
  llm.EngineIn("llm-a", std::nullopt, absl::Minutes(1));
  llm.EngineIn("llm-b", std::nullopt, absl::Minutes(1));
  for (const Trigger& trigger : {InFlight(), Named(InFlight()), Named(VllmInference())}) {
    const Decision decision = llm.Decide(trigger);
    EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable) << decision.status;
    EXPECT_THAT(decision.notes,
                Contains("no number from the engines of 2 replicas: llm-a (connection refused), "
                         "llm-b (connection refused)"));
  }
}

TEST(EngineDecision, ANameWithoutAddressIsUnavailableWhilePodsAreReady) {
  EngineWorkloadBuilder llm = WithYoung(false);
  llm.signals().read_since = llm.now() - kLong;
  const Decision decision = llm.Decide(Named(InFlight()));
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable) << decision.status;
  EXPECT_THAT(std::string(decision.status.message()), HasSubstr("llm:8000 has no address"));
  EXPECT_EQ(decision.starting, 1) << "the other one is not Ready";

  EngineWorkloadBuilder none(FleetBuilder().RepeatFor(kLong, {Node("n", {})}));
  none.signals().read_since = none.now() - kLong;
  const Decision idle = none.Decide(Named(InFlight()));
  ASSERT_TRUE(idle.status.ok()) << idle.status;
  EXPECT_FALSE(idle.active) << idle.active_because;
  EXPECT_THAT(idle.notes, Contains(HasSubstr("llm:8000 has no address")));
}

TEST(EngineDecision, IdleForTheWholeWindowIsInactive) {
  EngineWorkloadBuilder llm({{"llm-a", 0}}, 0);
  const Decision idle = llm.Decide(InFlight());
  EXPECT_FALSE(idle.active) << idle.active_because;
  EXPECT_EQ(idle.value, 0);
  llm.signals().read_since = llm.now() - absl::Seconds(20);
  EXPECT_TRUE(llm.Decide(InFlight()).active) << "not read for long enough";
}

TEST(EngineDecision, PendingRatioCountsFullBatches) {
  const EngineWorkloadBuilder llm({{"llm-a", 32}, {"llm-b", 16}});
  Trigger trigger = InFlight(0.5);
  trigger.metric = MetricType::kPendingRatio;
  trigger.max_concurrency = 64;
  EXPECT_EQ(llm.Decide(trigger).value, 0.75);
}

TEST(EngineDecision, AddressesOfNoKnownPodAreReplicasOfTheirOwn) {
  EngineWorkloadBuilder llm(FleetBuilder().RepeatFor(kLong, {Node("n", {})}));
  llm.EngineAt("10.1.0.7", 12);
  llm.EngineAt("10.1.0.8", 30);
  const Decision decision = llm.Decide(Named(InFlight()));
  EXPECT_EQ(decision.value, 42);
  EXPECT_EQ(decision.replicas, 2);
  EXPECT_THAT(decision.replicas_from, HasSubstr("addresses of no known pod"));
}

TEST(EngineDecision, AnEngineBelongsToThePodOfItsAddress) {
  NodeSnapshot node = Node("n", {LlmPod("llm-a"), LlmPod("llm-b")});
  node.pods[0].address = "10.1.0.7";
  node.pods[1].address = "10.1.0.8";
  const FleetBuilder nodes = FleetBuilder().RepeatFor(kLong, {node});
  EngineWorkloadBuilder llm(nodes);
  llm.EngineAt("10.1.0.7", 12);
  llm.EngineAt("10.1.0.8", 30);
  const Decision decision = llm.Decide(Named(InFlight()));
  EXPECT_EQ(decision.value, 42);
  EXPECT_EQ(decision.replicas, 2);
  EXPECT_EQ(decision.contributions[0].name, "llm-a");

  EngineWorkloadBuilder behind_one(nodes);
  behind_one.EngineAt("10.96.0.1", 12);
  const Decision refused = behind_one.Decide(Named(InFlight()));
  EXPECT_EQ(refused.status.code(), absl::StatusCode::kFailedPrecondition) << refused.status;
  EXPECT_THAT(std::string(refused.status.message()), HasSubstr("clusterIP: None"));
}

// Makes the engine one of a family that does not export the metric.
SignalSeries& NeverReports(SignalSeries& series, const std::string& family) {
  series.engine = family;
  series.reported_by = {"sglang", "vllm"};
  series.error = family + " never reports how many requests wait, and how many run";
  return series;
}

TEST(EngineDecision, MetricThatNoEngineInScopeReportsIsAFailedPrecondition) {
  EngineWorkloadBuilder llm({{"llm-a"}, {"llm-b"}});
  NeverReports(llm.EngineIn("llm-a", std::nullopt), "ollama");
  NeverReports(llm.EngineIn("llm-b", std::nullopt), "tei");
  const Decision decision = llm.Decide(InFlight());
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kFailedPrecondition) << decision.status;
  EXPECT_EQ(decision.status.message(),
            "no engine in scope reports requests_in_flight: ollama and tei do not; those that do "
            "are sglang, vllm");

  llm.EngineIn("other-a", 4);
  EXPECT_EQ(llm.Decide(InFlight()).status.code(), absl::StatusCode::kFailedPrecondition)
      << "another workload's engine does not help";
}

TEST(EngineDecision, EnginesWithoutTheMetricAreUnreadableBesideOthers) {
  EngineWorkloadBuilder llm({{"llm-a", 40}, {"llm-b"}});
  llm.EngineIn("llm-a", 40).engine = "vllm";
  NeverReports(llm.EngineIn("llm-b", std::nullopt), "ollama");
  const Decision decision = llm.Decide(InFlight());
  EXPECT_EQ(decision.value, 40 + 10) << decision.status;
  EXPECT_THAT(StatesOf(decision), testing::ElementsAre(State::kCounted, State::kUnreadable));
  EXPECT_THAT(decision.contributions[1].because,
              HasSubstr("ollama never reports how many requests wait"));

  llm.EngineIn("llm-a", std::nullopt).engine = "vllm";
  EXPECT_EQ(llm.Decide(InFlight()).status.code(), absl::StatusCode::kUnavailable)
      << "this one may report again";
}

TEST(EngineDecision, GpusAreReadAtOnceForEnginesWithoutPressure) {
  EngineWorkloadBuilder llm({{"llm-a"}});
  NeverReports(llm.EngineIn("llm-a", std::nullopt), "ollama");
  const Decision decision = llm.Decide(VllmInference());
  ASSERT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 60);
  EXPECT_TRUE(decision.saturation_unknown);
  EXPECT_THAT(decision.notes,
              Contains("no engine in scope reports engine_pressure: ollama does not; those that do "
                       "are sglang, vllm"));
}

// The pod had a vLLM until a minute ago.
TEST(EngineDecision, GpusAreReadForAnEngineWithoutPressureThoughTheOneBeforeItHadSome) {
  EngineWorkloadBuilder llm({{"llm-a", 50}});
  llm.Unlist("vllm at llm-a", absl::Minutes(1));
  NeverReports(llm.EngineIn("llm-a", std::nullopt), "ollama");
  const Decision decision = llm.Decide(VllmInference());
  ASSERT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 60);
}

}  // namespace
}  // namespace gpuscaler
