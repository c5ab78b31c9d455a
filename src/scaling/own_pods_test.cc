#include "scaling/own_pods.h"

#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/test_fleet_builder.h"
#include "scaling/test_random.h"
#include "scaling/test_signal_builder.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {
namespace {

const ScaledObjectRef kOfLlm{.namespace_name = "team-a", .name = "llm", .opened = {"team-b"}};

Trigger AnyTriggerOnEngines(Random& random) {
  Trigger trigger;
  trigger.metric = random.Often() ? MetricType::kRequestsInFlight : MetricType::kMemoryUsedPercent;
  trigger.preallocated_memory = PreallocatedMemory::kPressure;
  if (random.Often()) trigger.workload = "llm";
  if (!random.Often()) trigger.scope = Scope::kFleet;
  if (!random.Often()) trigger.engine_endpoint.url = "http://llm:8000";
  trigger.target = random.Whole(1, 100);
  trigger.window = absl::Seconds(random.Whole(0, 30));
  trigger.activation_window = absl::Seconds(random.Whole(0, 60));
  trigger.warmup = absl::Seconds(random.Whole(0, 30));
  return trigger;
}

// Pods of several workloads and namespaces, some with equal names.
HeldPod AnyPodOfSeveral(Random& random, int number) {
  HeldPod pod{.name = absl::StrCat("pod-", number),
              .owner = random.Often() ? "llm" : "other",
              .loads = {static_cast<double>(random.Whole(0, 100))}};
  if (!random.Often()) pod.namespace_name = random.Often() ? "team-b" : "team-c";
  if (!random.Often()) pod.ready = random.Often();
  pod.memory_used_percent = random.Whole(0, 99);
  return pod;
}

std::string AddressOfPod(int number) { return absl::StrCat("10.0.0.", number); }

// Some of the pods have a known address.
NodeSnapshot AnyNode(Random& random, int node) {
  std::vector<HeldPod> pods;
  std::vector<int> numbers;
  for (int number = node * 4; number < node * 4 + 4; ++number) {
    if (!random.Often()) continue;
    numbers.push_back(number);
    pods.push_back(AnyPodOfSeveral(random, number));
  }
  NodeSnapshot snapshot = Node(absl::StrCat("gpu-", node), pods);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (random.Often()) snapshot.pods[i].address = AddressOfPod(numbers[i]);
  }
  return random.Whole(0, 9) > 0 ? snapshot : NodeWithoutOwners(snapshot, "it does not answer");
}

// An engine is known by its pod, by its address, or both.
SignalHistory AnyEngines(Random& random, absl::Time now) {
  SignalBuilder observed(now);
  for (int number = 0; number < 12; ++number) {
    if (!random.Often()) continue;
    SignalSeries& engine =
        observed.Hold(absl::StrCat("vllm at ", number), absl::Seconds(random.Whole(1, 90)),
                      random.Often() ? std::optional<double>(random.Whole(0, 200)) : std::nullopt);
    engine.engine = "vllm";
    if (random.Often()) engine.address = AddressOfPod(number);
    if (!random.Often()) continue;
    engine.pod = absl::StrCat("pod-", number);
    engine.namespace_name = random.Often() ? "team-a" : "team-b";
  }
  if (!random.Often()) observed.history().status = absl::UnavailableError("DNS does not answer");
  return observed.history();
}

TEST(OwnPods, DecisionIsTheSameWithTheirEnginesAlone) {
  int spared = 0;
  int decided = 0;
  ForManySeeds([&](Random& random) {
    const Trigger trigger = AnyTriggerOnEngines(random);
    FleetBuilder nodes;
    for (int instant = random.Whole(1, 4); instant > 0; --instant) {
      nodes.Hold(random.Whole(1, 10) * kTick,
                 {AnyNode(random, 0), AnyNode(random, 1), AnyNode(random, 2)});
    }
    const FleetHistory fleet = nodes.fleet();
    const SignalHistory all = AnyEngines(random, fleet.now);
    const auto own = OwnPodsOf(trigger, kOfLlm, fleet);
    SignalHistory some = all;
    std::erase_if(some.series, [&](const SignalSeries& engine) {
      return own != nullptr && !own->MayHave(engine.pod, engine.address);
    });
    spared += static_cast<int>(all.series.size() - some.series.size());
    const Decision whole = Decide(trigger, kOfLlm, fleet, &all, kStaleness);
    const Decision part = Decide(trigger, kOfLlm, fleet, &some, kStaleness);
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

TEST(OwnPods, NamedEndpointHasNone) {
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
