#include "scaling/workload_pod_names.h"

#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/test_fleet_builder.h"
#include "scaling/test_random.h"
#include "scaling/test_signal_builder.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {
namespace {

const ScaledObjectRef kOfLlm{
    .namespace_name = "team-a", .name = "llm", .allowed_namespaces = {"team-b"}};

Trigger AnyTriggerOnEngines(Random& random) {
  Trigger trigger;
  trigger.metric =
      random.ThreeInFour() ? MetricType::kRequestsInFlight : MetricType::kMemoryUsedPercent;
  trigger.preallocated_memory = PreallocatedMemory::kPressure;
  if (random.ThreeInFour()) trigger.workload = "llm";
  if (!random.ThreeInFour()) trigger.scope = Scope::kFleet;
  if (!random.ThreeInFour()) trigger.engine_endpoint.url = "http://llm:8000";
  trigger.target = random.Whole(1, 100);
  trigger.window = absl::Seconds(random.Whole(0, 30));
  trigger.activation_window = absl::Seconds(random.Whole(0, 60));
  trigger.warmup = absl::Seconds(random.Whole(0, 30));
  return trigger;
}

// Pods of several workloads and namespaces, some with equal names.
GpuPod AnyPodOfSeveral(Random& random, int number) {
  GpuPod pod{.name = absl::StrCat("pod-", number),
             .owner = random.ThreeInFour() ? "llm" : "other",
             .loads = {static_cast<double>(random.Whole(0, 100))}};
  if (!random.ThreeInFour()) pod.namespace_name = random.ThreeInFour() ? "team-b" : "team-c";
  if (!random.ThreeInFour()) pod.ready = random.ThreeInFour();
  pod.memory_used_percent = random.Whole(0, 99);
  return pod;
}

std::string AddressOfPod(int number) { return absl::StrCat("10.0.0.", number); }

// Some of the pods have a known address.
NodeSnapshot AnyNode(Random& random, int node) {
  std::vector<GpuPod> pods;
  std::vector<int> numbers;
  for (int number = node * 4; number < node * 4 + 4; ++number) {
    if (!random.ThreeInFour()) continue;
    numbers.push_back(number);
    pods.push_back(AnyPodOfSeveral(random, number));
  }
  NodeSnapshot snapshot = Node(absl::StrCat("gpu-", node), pods);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (random.ThreeInFour()) snapshot.pods[i].address = AddressOfPod(numbers[i]);
  }
  return random.Whole(0, 9) > 0 ? snapshot : NodeWithoutOwners(snapshot, "it does not answer");
}

// An engine is known by its pod, by its address, or both.
SignalHistory AnyEngines(Random& random, absl::Time now) {
  SignalBuilder observed(now);
  for (int number = 0; number < 12; ++number) {
    if (!random.ThreeInFour()) continue;
    SignalSeries& engine = observed.RepeatFor(
        absl::StrCat("vllm at ", number), absl::Seconds(random.Whole(1, 90)),
        random.ThreeInFour() ? std::optional<double>(random.Whole(0, 200)) : std::nullopt);
    engine.engine = "vllm";
    if (random.ThreeInFour()) engine.address = AddressOfPod(number);
    if (!random.ThreeInFour()) continue;
    engine.pod = absl::StrCat("pod-", number);
    engine.namespace_name = random.ThreeInFour() ? "team-a" : "team-b";
  }
  if (!random.ThreeInFour())
    observed.history().status = absl::UnavailableError("DNS does not answer");
  return observed.history();
}

TEST(WorkloadPodNames, DecisionIsTheSameWithTheirEnginesAlone) {
  int spared = 0;
  int decided = 0;
  ForManySeeds([&](Random& random) {
    const Trigger trigger = AnyTriggerOnEngines(random);
    FleetBuilder nodes;
    for (int instant = random.Whole(1, 4); instant > 0; --instant) {
      nodes.RepeatFor(random.Whole(1, 10) * kTick,
                      {AnyNode(random, 0), AnyNode(random, 1), AnyNode(random, 2)});
    }
    const FleetHistory fleet = nodes.fleet();
    const SignalHistory all = AnyEngines(random, fleet.now);
    const auto own = WorkloadPodNamesOf(trigger, kOfLlm, fleet);
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
  EXPECT_GT(spared, 300 / kPartOfSeeds) << "of some 2,700";
  EXPECT_GT(decided, 100 / kPartOfSeeds) << "of 300";
}

TEST(WorkloadPodNames, NamedEndpointHasNone) {
  Trigger trigger;
  trigger.metric = MetricType::kRequestsInFlight;
  const FleetHistory fleet =
      FleetBuilder()
          .Tick({Node("gpu-1", {{.name = "llm-a", .owner = "llm", .loads = {60}}})})
          .fleet();
  EXPECT_TRUE(WorkloadPodNamesOf(trigger, kOfLlm, fleet)->MayHave("llm-a", ""));
  EXPECT_FALSE(WorkloadPodNamesOf(trigger, kOfLlm, fleet)->MayHave("llm-b", ""));
  trigger.engine_endpoint.url = "http://llm:8000";
  EXPECT_EQ(WorkloadPodNamesOf(trigger, kOfLlm, fleet), nullptr);
}

}  // namespace
}  // namespace gpuscaler
