#include "scaling/own_pods.h"

#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/dice.h"
#include "scaling/fleet_builder.h"
#include "scaling/signal_builder.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {
namespace {

const Asker kOfLlm{.namespace_name = "team-a", .name = "llm", .opened = {"team-b"}};

Trigger AnyTriggerOnEngines(Dice& dice) {
  Trigger trigger;
  trigger.metric = dice.Often() ? MetricType::kRequestsInFlight : MetricType::kMemoryUsedPercent;
  trigger.standing_memory = StandingMemory::kPressure;
  if (dice.Often()) trigger.workload = "llm";
  if (!dice.Often()) trigger.scope = Scope::kFleet;
  if (!dice.Often()) trigger.engine_endpoint.url = "http://llm:8000";
  trigger.target = dice.Whole(1, 100);
  trigger.window = absl::Seconds(dice.Whole(0, 30));
  trigger.activation_window = absl::Seconds(dice.Whole(0, 60));
  trigger.warmup = absl::Seconds(dice.Whole(0, 30));
  return trigger;
}

// Pods of several workloads and namespaces, some of them called alike.
HeldPod AnyPodOfSeveral(Dice& dice, int number) {
  HeldPod pod{.name = absl::StrCat("pod-", number),
              .owner = dice.Often() ? "llm" : "other",
              .loads = {static_cast<double>(dice.Whole(0, 100))}};
  if (!dice.Often()) pod.namespace_name = dice.Often() ? "team-b" : "team-c";
  if (!dice.Often()) pod.ready = dice.Often();
  pod.memory_used_percent = dice.Whole(0, 99);
  return pod;
}

std::string AddressOfPod(int number) { return absl::StrCat("10.0.0.", number); }

// Some of them know their addresses.
NodeSnapshot AnyNode(Dice& dice, int node) {
  std::vector<HeldPod> pods;
  std::vector<int> numbers;
  for (int number = node * 4; number < node * 4 + 4; ++number) {
    if (!dice.Often()) continue;
    numbers.push_back(number);
    pods.push_back(AnyPodOfSeveral(dice, number));
  }
  NodeSnapshot snapshot = Node(absl::StrCat("gpu-", node), pods);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (dice.Often()) snapshot.pods[i].address = AddressOfPod(numbers[i]);
  }
  return dice.Whole(0, 9) > 0 ? snapshot : UnownedNode(snapshot, "it does not answer");
}

// An engine is known by its pod, by its address, or both.
SignalHistory AnyEngines(Dice& dice, absl::Time now) {
  SignalBuilder said(now);
  for (int number = 0; number < 12; ++number) {
    if (!dice.Often()) continue;
    SignalSeries& engine =
        said.Hold(absl::StrCat("vllm at ", number), absl::Seconds(dice.Whole(1, 90)),
                  dice.Often() ? std::optional<double>(dice.Whole(0, 200)) : std::nullopt);
    engine.engine = "vllm";
    if (dice.Often()) engine.address = AddressOfPod(number);
    if (!dice.Often()) continue;
    engine.pod = absl::StrCat("pod-", number);
    engine.namespace_name = dice.Often() ? "team-a" : "team-b";
  }
  if (!dice.Often()) said.history().status = absl::UnavailableError("DNS does not answer");
  return said.history();
}

TEST(OwnPods, DecisionIsTheSameWithTheirEnginesAlone) {
  int spared = 0;
  int decided = 0;
  ForManySeeds([&](Dice& dice) {
    const Trigger trigger = AnyTriggerOnEngines(dice);
    FleetBuilder nodes;
    for (int instant = dice.Whole(1, 4); instant > 0; --instant) {
      nodes.Hold(dice.Whole(1, 10) * kTick, {AnyNode(dice, 0), AnyNode(dice, 1), AnyNode(dice, 2)});
    }
    const FleetHistory fleet = nodes.fleet();
    const SignalHistory all = AnyEngines(dice, fleet.now);
    const auto own = OwnPodsOf(trigger, kOfLlm, fleet);
    SignalHistory some = all;
    std::erase_if(some.series, [&](const SignalSeries& engine) {
      return own != nullptr && !own->MayHave(engine.pod, engine.address);
    });
    spared += static_cast<int>(all.series.size() - some.series.size());
    const Decision whole = Decide(trigger, kOfLlm, fleet, &all, kPatience);
    const Decision part = Decide(trigger, kOfLlm, fleet, &some, kPatience);
    decided += whole.status.ok() ? 1 : 0;
    EXPECT_EQ(Explain(trigger, part), Explain(trigger, whole));
    EXPECT_EQ(part.status, whole.status);
    EXPECT_EQ(part.active, whole.active);
    EXPECT_EQ(part.valid_until, whole.valid_until);
    EXPECT_EQ(part.active_until, whole.active_until);
    EXPECT_EQ(part.evidence_until, whole.evidence_until);
  });
  EXPECT_GT(spared, 300) << "of some 2,700";
  EXPECT_GT(decided, 100) << "of 300";
}

TEST(OwnPods, AreNobodysOfAnEndpointThatIsNamed) {
  Trigger trigger;
  trigger.metric = MetricType::kRequestsInFlight;
  const FleetHistory fleet =
      FleetBuilder()
          .Tick({Node("gpu-1", {{.name = "llm-a", .owner = "llm", .loads = {60}}})})
          .fleet();
  EXPECT_TRUE(OwnPodsOf(trigger, kOfLlm, fleet)->MayHave("llm-a", ""));
  EXPECT_FALSE(OwnPodsOf(trigger, kOfLlm, fleet)->MayHave("llm-b", ""));
  trigger.engine_endpoint.url = "http://llm:8000";
  EXPECT_EQ(OwnPodsOf(trigger, kOfLlm, fleet), nullptr);
}

}  // namespace
}  // namespace gpuscaler
