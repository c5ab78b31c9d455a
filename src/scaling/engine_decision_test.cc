#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/fleet_builder.h"
#include "scaling/signal_builder.h"
#include "scaling/test_triggers.h"

namespace gpuscaler {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

using State = ReplicaShare::State;

const Asker kLlmOfTeamA{.namespace_name = "team-a", .name = "llm", .opened = {}};

Trigger InFlight(double target = 10) {
  Trigger trigger;
  trigger.metric = MetricType::kRequestsInFlight;
  trigger.target = target;
  trigger.aggregation = Aggregation::kSum;
  trigger.window = absl::Seconds(15);
  return trigger;
}

Trigger VllmInference() {
  Trigger trigger;
  trigger.metric = MetricType::kMemoryUsedPercent;
  trigger.standing_memory = StandingMemory::kPressure;
  trigger.target = 80;
  trigger.activation_threshold = 5;
  trigger.activation_window = absl::Seconds(120);
  return trigger;
}

HeldPod LlmPod(const std::string& name, double load = 60) {
  return {.name = name, .owner = "llm", .loads = {load}, .memory_used_percent = 90};
}

// Pods of llm that were there for long, on a node of their own each.
FleetBuilder Pods(const std::vector<std::string>& names, double load = 60) {
  FleetBuilder fleet;
  std::vector<NodeSnapshot> nodes;
  for (const std::string& name : names) nodes.push_back(Node("n-" + name, {LlmPod(name, load)}));
  fleet.Hold(absl::Minutes(12), nodes);
  return fleet;
}

class Engines : public SignalBuilder {
 public:
  using SignalBuilder::SignalBuilder;

  SignalSeries& OfPod(const std::string& pod, std::optional<double> value,
                      absl::Duration duration = absl::Minutes(12)) {
    SignalSeries& series = Hold("vllm at " + pod, duration, value);
    series.namespace_name = "team-a";
    series.pod = pod;
    return series;
  }

  SignalSeries& At(const std::string& address, std::optional<double> value) {
    SignalSeries& series = Hold("vllm at " + address, absl::Minutes(12), value);
    series.address = address;
    return series;
  }

  void Without(std::vector<WithoutEngine> pods) {
    history().without = std::make_shared<const std::vector<WithoutEngine>>(std::move(pods));
  }
};

Decision DecideWith(const Trigger& trigger, const FleetBuilder& fleet,
                    const SignalBuilder& signals) {
  return Decide(trigger, kLlmOfTeamA, fleet.fleet(), &signals.history(), kPatience);
}

std::vector<State> StatesOf(const Decision& decision) {
  std::vector<State> states;
  for (const ReplicaShare& share : decision.shares) states.push_back(share.state);
  return states;
}

TEST(EngineDecision, RequestsOfAllReplicasAddUpAndValueIsTheirAverage) {
  const FleetBuilder fleet = Pods({"llm-a", "llm-b", "llm-c", "llm-d"});
  Engines engines(fleet.now());
  engines.OfPod("llm-a", 4);
  engines.OfPod("llm-b", 8);
  engines.OfPod("llm-c", 12);
  engines.OfPod("llm-d", 16);
  const Decision decision = DecideWith(InFlight(), fleet, engines);
  ASSERT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 40);
  EXPECT_EQ(decision.replicas, 4);
  EXPECT_TRUE(decision.active);
  EXPECT_THAT(decision.replicas_from, HasSubstr("by their engines"));

  Trigger value = InFlight();
  value.target_type = TargetType::kValue;
  EXPECT_EQ(DecideWith(value, fleet, engines).value, 10);
}

TEST(EngineDecision, EnginesOfOtherPodsDoNotCount) {
  const FleetBuilder fleet = Pods({"llm-a"});
  Engines engines(fleet.now());
  engines.OfPod("llm-a", 4);
  engines.OfPod("other-a", 50);
  EXPECT_EQ(DecideWith(InFlight(), fleet, engines).value, 4);
}

TEST(EngineDecision, SeveralEnginesOfAPodAddUpOrTheFullestCounts) {
  const FleetBuilder fleet = Pods({"llm-a"});
  Engines engines(fleet.now());
  engines.OfPod("llm-a", 4);
  SignalSeries second = engines.OfPod("llm-a", 4);
  second.name = "another";
  for (SignalPoint& point : second.points) point.value = 30;
  engines.history().series.push_back(second);
  EXPECT_EQ(DecideWith(InFlight(), fleet, engines).value, 34);
  Trigger fullest = InFlight(80);
  fullest.metric = MetricType::kKvCacheUsagePercent;
  fullest.aggregation = Aggregation::kMax;
  EXPECT_EQ(DecideWith(fullest, fleet, engines).value, 30);
}

TEST(EngineDecision, ASilentEngineStandsForTheTarget) {
  const FleetBuilder fleet = Pods({"llm-a", "llm-b"});
  Engines engines(fleet.now());
  engines.OfPod("llm-a", 40);
  engines.OfPod("llm-b", 7);
  engines.Then("vllm at llm-b", absl::Seconds(20), std::nullopt);
  const Decision decision = DecideWith(InFlight(), fleet, engines);
  EXPECT_EQ(decision.value, 50);
  EXPECT_EQ(decision.unreadable, 1);
  EXPECT_THAT(StatesOf(decision), Contains(State::kUnreadable));
  EXPECT_THAT(Explain(InFlight(), decision), HasSubstr("unreadable for 21s: connection refused"));
}

TEST(EngineDecision, WhereNoneAnswersItIsUnavailableNotZero) {
  const FleetBuilder fleet = Pods({"llm-a", "llm-b"});
  Engines engines(fleet.now());
  engines.OfPod("llm-a", std::nullopt);
  const Decision decision = DecideWith(InFlight(), fleet, engines);
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable) << decision.status;

  EXPECT_EQ(Decide(InFlight(), kLlmOfTeamA, fleet.fleet(), kPatience).status.code(),
            absl::StatusCode::kUnavailable);
  engines.history().status = absl::UnavailableError("not known yet");
  EXPECT_EQ(DecideWith(InFlight(), fleet, engines).status, engines.history().status);
}

TEST(EngineDecision, WhyNoEngineIsFoundIsSaid) {
  const FleetBuilder fleet = Pods({"llm-a", "llm-b"});
  Engines engines(fleet.now());
  engines.OfPod("llm-b", 7);
  engines.Without(
      {{.namespace_name = "team-b", .pod = "llm-a", .why = "of another"},
       {.namespace_name = "team-a", .pod = "llm-a", .why = "nothing listens in its network yet"}});
  EXPECT_THAT(Explain(InFlight(), DecideWith(InFlight(), fleet, engines)),
              HasSubstr("no engine is found in it: nothing listens in its network yet"));
  engines.Without({{.node = "n-llm-a", .why = "its agent does not look for engines"}});
  EXPECT_THAT(Explain(InFlight(), DecideWith(InFlight(), fleet, engines)),
              HasSubstr("no engine is found in it: its agent does not look for engines"));
}

TEST(EngineDecision, WithoutPodsAndEnginesItIsIdle) {
  FleetBuilder fleet;
  fleet.Hold(kLong, {Node("n", {})});
  Engines engines(fleet.now());
  engines.history().read_since = fleet.now() - kLong;
  const Decision decision = DecideWith(InFlight(), fleet, engines);
  EXPECT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 0);
  EXPECT_FALSE(decision.active);
}

TEST(EngineDecision, WithoutOwnersTheEnginesAreTheReplicas) {
  HistoryBuilder gpus;
  gpus.Hold(kLong, {BusyGpu(0, 60, 90), BusyGpu(1, 60, 90)});
  Engines engines(gpus.now());
  const auto decide = [&](const Trigger& trigger) {
    return Decide(trigger, kLlmOfTeamA, gpus.fleet(), &engines.history(), kPatience);
  };
  engines.history().status = absl::UnavailableError("not known yet");
  EXPECT_EQ(decide(InFlight()).status, engines.history().status);
  EXPECT_GT(decide(VllmInference()).value, 0) << "by its GPUs";
  engines.history().status = absl::OkStatus();
  engines.At("10.1.0.7", 12);
  EXPECT_EQ(decide(InFlight()).value, 12);
  EXPECT_EQ(decide(VllmInference()).value, 12);
  EXPECT_EQ(decide(VllmInference()).replicas, 1);
}

// Their kubelets tell no addresses: Kubernetes before 1.37.
TEST(EngineDecision, PodsThatMayBeBehindOneAddressCountTheTarget) {
  const FleetBuilder fleet = Pods({"llm-a", "llm-b", "llm-c"});
  Engines engines(fleet.now());
  engines.At("10.96.0.1", 7);
  Trigger trigger = InFlight();
  trigger.engine_endpoint.url = "http://llm:8000";
  const Decision decision = DecideWith(trigger, fleet, engines);
  ASSERT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 7 + 2 * 10);
  EXPECT_EQ(decision.replicas, 3);
  EXPECT_EQ(decision.unreadable, 2);
  EXPECT_THAT(Explain(trigger, decision), HasSubstr("clusterIP: None"));

  Engines two(fleet.now());
  two.At("10.1.0.7", 7);
  two.At("10.1.0.8", 7);
  EXPECT_EQ(DecideWith(trigger, fleet, two).replicas, 2) << "the third is not Ready";
}

TEST(EngineDecision, AYoungReplicaIsWarmingUntilItsEngineAnswers) {
  // Of the second node nothing is known before the pod was there.
  FleetBuilder grown;
  grown.Hold(kLong, {Node("n-llm-a", {LlmPod("llm-a")}), Node("n-llm-b", {})});
  grown.Hold(absl::Minutes(2),
             {Node("n-llm-a", {LlmPod("llm-a")}), Node("n-llm-b", {LlmPod("llm-b")})});
  Engines engines(grown.now());
  engines.OfPod("llm-a", 40);
  engines.OfPod("llm-b", std::nullopt, absl::Seconds(100));
  const Decision decision = DecideWith(InFlight(), grown, engines);
  EXPECT_EQ(decision.value, 40);
  EXPECT_EQ(decision.replicas, 1);
  EXPECT_EQ(decision.warming, 1);
  EXPECT_THAT(Explain(InFlight(), decision),
              HasSubstr("its engine has not answered yet: connection refused"));

  engines.Then("vllm at llm-b", absl::Seconds(3), 5);
  EXPECT_EQ(DecideWith(InFlight(), grown, engines).value, 45);
}

TEST(EngineDecision, IdleForTheWholeWindowIsInactive) {
  const FleetBuilder fleet = Pods({"llm-a"}, 0);
  Engines engines(fleet.now());
  engines.OfPod("llm-a", 0);
  const Decision idle = DecideWith(InFlight(), fleet, engines);
  EXPECT_FALSE(idle.active) << idle.active_because;
  EXPECT_EQ(idle.value, 0);
  engines.history().read_since = fleet.now() - absl::Seconds(20);
  EXPECT_TRUE(DecideWith(InFlight(), fleet, engines).active) << "not read for long enough";
}

TEST(EngineDecision, PendingRatioCountsFullBatches) {
  const FleetBuilder fleet = Pods({"llm-a", "llm-b"});
  Engines engines(fleet.now());
  engines.OfPod("llm-a", 32);
  engines.OfPod("llm-b", 16);
  Trigger trigger = InFlight(0.5);
  trigger.metric = MetricType::kPendingRatio;
  trigger.max_concurrency = 64;
  EXPECT_EQ(DecideWith(trigger, fleet, engines).value, 0.75);
}

TEST(EngineDecision, AddressesOfNoKnownPodAreReplicasOfTheirOwn) {
  FleetBuilder fleet;
  fleet.Hold(kLong, {Node("n", {})});
  Engines engines(fleet.now());
  engines.At("10.1.0.7", 12);
  engines.At("10.1.0.8", 30);
  Trigger trigger = InFlight();
  trigger.engine_endpoint.url = "http://llm:8000";
  const Decision decision = DecideWith(trigger, fleet, engines);
  EXPECT_EQ(decision.value, 42);
  EXPECT_EQ(decision.replicas, 2);
  EXPECT_THAT(decision.replicas_from, HasSubstr("addresses of no known pod"));
}

TEST(EngineDecision, AnAddressIsItsPods) {
  FleetBuilder fleet;
  NodeSnapshot node = Node("n", {LlmPod("llm-a"), LlmPod("llm-b")});
  node.pods[0].address = "10.1.0.7";
  node.pods[1].address = "10.1.0.8";
  fleet.Hold(kLong, {node});
  Engines engines(fleet.now());
  engines.At("10.1.0.7", 12);
  engines.At("10.1.0.8", 30);
  Trigger trigger = InFlight();
  trigger.engine_endpoint.url = "http://llm:8000";
  const Decision decision = DecideWith(trigger, fleet, engines);
  EXPECT_EQ(decision.value, 42);
  EXPECT_EQ(decision.replicas, 2);
  EXPECT_EQ(decision.shares[0].name, "llm-a");

  Engines one(fleet.now());
  one.At("10.96.0.1", 12);
  const Decision refused = DecideWith(trigger, fleet, one);
  EXPECT_EQ(refused.status.code(), absl::StatusCode::kFailedPrecondition) << refused.status;
  EXPECT_THAT(std::string(refused.status.message()), HasSubstr("clusterIP: None"));
}

TEST(EngineDecision, FrozenRequestsOnIdleGpusCountAsNone) {
  const FleetBuilder idle = Pods({"llm-a"}, 0);
  Engines engines(idle.now());
  engines.OfPod("llm-a", 40).unmoved_since = idle.now() - absl::Minutes(6);
  const Decision decision = DecideWith(InFlight(), idle, engines);
  EXPECT_EQ(decision.value, 0);
  EXPECT_FALSE(decision.active) << decision.active_because;
  EXPECT_EQ(decision.frozen, 1);
  EXPECT_THAT(decision.notes, Contains(HasSubstr("frozen")));

  engines.OfPod("llm-a", 40).unmoved_since = idle.now() - absl::Minutes(4);
  const Decision early = DecideWith(InFlight(), idle, engines);
  EXPECT_EQ(early.value, 40) << "not for long enough";
  EXPECT_EQ(early.active_until <= idle.now() + absl::Minutes(1), true);
  const FleetBuilder busy = Pods({"llm-a"}, 3);
  engines.OfPod("llm-a", 40).unmoved_since = busy.now() - absl::Minutes(6);
  EXPECT_EQ(DecideWith(InFlight(), busy, engines).value, 40) << "its GPU works";
}

TEST(EngineDecision, APressureProfileCountsItsEnginesPressureUpToTwiceTheTarget) {
  const FleetBuilder fleet = Pods({"llm-a", "llm-b"});
  Engines engines(fleet.now());
  engines.OfPod("llm-a", 100);
  engines.OfPod("llm-b", 900);
  const Decision decision = DecideWith(VllmInference(), fleet, engines);
  EXPECT_EQ(decision.value, 100 + 2 * 80);
  EXPECT_FALSE(decision.saturation_unknown);

  engines.OfPod("llm-a", 0);
  engines.OfPod("llm-b", 0);
  const Decision idle = DecideWith(VllmInference(), fleet, engines);
  EXPECT_EQ(idle.value, 0);
  EXPECT_FALSE(idle.active) << idle.active_because;
}

TEST(EngineDecision, AnEngineThatServesAFewIsNotTakenToZero) {
  const auto decide = [](const Trigger& trigger, double pressure, double utilization) {
    const FleetBuilder fleet = Pods({"llm-a"}, utilization);
    Engines engines(fleet.now());
    engines.OfPod("llm-a", pressure);
    return DecideWith(trigger, fleet, engines);
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

  const FleetBuilder fleet = Pods({"llm-a", "llm-b"});
  Engines engines(fleet.now());
  engines.At("10.1.0.7", 3);
  engines.At("10.1.0.8", 0);
  Trigger named = VllmInference();
  named.engine_endpoint.url = "http://llm:8000";
  EXPECT_TRUE(DecideWith(named, fleet, engines).active) << "whose GPUs are not known";
}

TEST(EngineDecision, WhereGpusSpeakForThePressureItSaysWhyEnginesDoNot) {
  const FleetBuilder fleet = Pods({"llm-a"});
  Engines engines(fleet.now());
  engines.Without(
      {{.namespace_name = "team-a", .pod = "llm-a", .why = "it listens at 127.0.0.1:8000 alone"}});
  const Decision decision = DecideWith(VllmInference(), fleet, engines);
  EXPECT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_THAT(decision.notes,
              Contains("no engine is found in llm-a: it listens at 127.0.0.1:8000 alone"));
}

TEST(EngineDecision, OneUnitASilentEngineBesidesOnesThatAreReadIsUnreadable) {
  const FleetBuilder fleet = Pods({"llm-a", "llm-b"});
  Engines engines(fleet.now());
  engines.OfPod("llm-a", 50);
  EXPECT_EQ(DecideWith(VllmInference(), fleet, engines).value, 50 + 80);
}

TEST(EngineDecision, TheFallbackAppliesOnceNoEngineWasReadForForgetAfter) {
  const FleetBuilder fleet = Pods({"llm-a"}, 60);
  Engines engines(fleet.now());
  engines.OfPod("llm-a", 50);
  engines.Then("vllm at llm-a", absl::Minutes(4), std::nullopt);
  const Decision silent = DecideWith(VllmInference(), fleet, engines);
  EXPECT_EQ(silent.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_LE(silent.active_until, fleet.now() + absl::Minutes(1));

  engines.Then("vllm at llm-a", absl::Minutes(6), std::nullopt);
  const Decision fallback = DecideWith(VllmInference(), fleet, engines);
  EXPECT_TRUE(fallback.status.ok()) << fallback.status;
  EXPECT_EQ(fallback.value, 60);
  EXPECT_TRUE(fallback.saturation_unknown);

  engines.history().series.clear();
  EXPECT_EQ(DecideWith(VllmInference(), fleet, engines).value, 60) << "it is known to have none";
  EXPECT_EQ(Decide(VllmInference(), kLlmOfTeamA, fleet.fleet(), kPatience).value, 60);
}

}  // namespace
}  // namespace gpuscaler
