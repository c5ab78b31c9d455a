// Properties of all fleets, tested on many random ones.
#include <algorithm>

#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/test_any_trigger.h"
#include "scaling/test_fleet_builder.h"
#include "scaling/test_random.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {
namespace {

const ScaledObjectRef kScaler{.namespace_name = "team-a", .name = "scaler"};

Trigger AnyTriggerOnLlm(Random& random) {
  Trigger trigger = AnyTriggerOnPods(random);
  trigger.workload = "llm";
  trigger.metric =
      random.ThreeInFour() ? MetricType::kGpuUtilization : MetricType::kMemoryUsedPercent;
  return trigger;
}

GpuPod AnyPod(Random& random, std::string name) {
  GpuPod pod{.name = std::move(name), .owner = "llm"};
  for (int gpu = random.Whole(1, 2); gpu > 0; --gpu) pod.loads.push_back(random.Whole(0, 100));
  if (!random.ThreeInFour()) pod.ready = random.ThreeInFour();
  pod.memory_used_percent = random.Whole(0, 99);
  return pod;
}

GpuPod PodOfOthers(Random& random, std::string name) {
  GpuPod pod = AnyPod(random, std::move(name));
  if (random.ThreeInFour()) {
    pod.owner = "other";
  } else {
    pod.namespace_name = "team-b";
  }
  return pod;
}

// The workload's pods: by instant, then by node. A pod stays on its node, and may go.
using Course = std::vector<std::vector<std::vector<GpuPod>>>;

Course AnyCourse(Random& random, int nodes) {
  Course course;
  for (int instant = random.Whole(1, 8); instant > 0; --instant) {
    std::vector<std::vector<GpuPod>> pods(static_cast<size_t>(nodes));
    for (int node = 0; node < nodes; ++node) {
      for (int pod = random.Whole(0, 2); pod > 0; --pod) {
        pods[static_cast<size_t>(node)].push_back(
            AnyPod(random, absl::StrCat("llm-", node, "-", pod)));
      }
    }
    course.push_back(std::move(pods));
  }
  return course;
}

std::string NodeName(size_t node) { return absl::StrCat("gpu-", node); }

void ExpectSameAnswer(const Decision& one, const Decision& other) {
  EXPECT_EQ(one.status, other.status);
  EXPECT_NEAR(one.value, other.value, 0.001);
  EXPECT_EQ(one.active, other.active);
  EXPECT_EQ(one.replicas, other.replicas);
  EXPECT_EQ(one.unreadable, other.unreadable);
  EXPECT_EQ(one.starting, other.starting);
}

TEST(FleetProperty, PodsOfOthersNeverChangeTheAnswer) {
  ForManySeeds([](Random& random) {
    const Trigger trigger = AnyTriggerOnLlm(random);
    FleetBuilder alone;
    FleetBuilder among_others;
    for (const auto& nodes : AnyCourse(random, 2)) {
      std::vector<NodeSnapshot> own;
      std::vector<NodeSnapshot> all;
      for (size_t node = 0; node < nodes.size(); ++node) {
        std::vector<GpuPod> pods = nodes[node];
        own.push_back(Node(NodeName(node), pods));
        for (int i = random.Whole(0, 3); i > 0; --i) {
          pods.push_back(PodOfOthers(random, absl::StrCat("x-", i)));
        }
        all.push_back(Node(NodeName(node), pods));
      }
      all.push_back(Node("gpu-of-others", {PodOfOthers(random, "x")}));
      const absl::Duration duration = random.Whole(1, 20) * kTick;
      alone.RepeatFor(duration, own);
      among_others.RepeatFor(duration, all);
    }
    ExpectSameAnswer(Decide(trigger, kScaler, alone.fleet(), kStaleness),
                     Decide(trigger, kScaler, among_others.fleet(), kStaleness));
  });
}

TEST(FleetProperty, OrderOfNodesDoesNotMatter) {
  ForManySeeds([](Random& random) {
    const Trigger trigger = AnyTriggerOnLlm(random);
    FleetBuilder builder;
    for (const auto& nodes : AnyCourse(random, 3)) {
      std::vector<NodeSnapshot> received;
      for (size_t node = 0; node < nodes.size(); ++node) {
        if (random.ThreeInFour()) received.push_back(Node(NodeName(node), nodes[node]));
      }
      builder.RepeatFor(random.Whole(1, 20) * kTick, received);
    }
    FleetHistory fleet = builder.fleet();
    const Decision forwards = Decide(trigger, kScaler, fleet, kStaleness);
    std::ranges::reverse(fleet.nodes);
    ExpectSameAnswer(forwards, Decide(trigger, kScaler, fleet, kStaleness));
  });
}

TEST(FleetProperty, SplittingANodeOverSeveralChangesNothing) {
  ForManySeeds([](Random& random) {
    const Trigger trigger = AnyTriggerOnLlm(random);
    FleetBuilder together;
    FleetBuilder split;
    for (const auto& nodes : AnyCourse(random, 3)) {
      std::vector<GpuPod> all;
      std::vector<NodeSnapshot> each;
      for (size_t node = 0; node < nodes.size(); ++node) {
        all.insert(all.end(), nodes[node].begin(), nodes[node].end());
        each.push_back(Node(NodeName(node), nodes[node]));
      }
      const absl::Duration duration = random.Whole(1, 20) * kTick;
      together.RepeatFor(duration, {Node("gpu", all)});
      split.RepeatFor(duration, each);
    }
    ExpectSameAnswer(Decide(trigger, kScaler, together.fleet(), kStaleness),
                     Decide(trigger, kScaler, split.fleet(), kStaleness));
  });
}

}  // namespace
}  // namespace gpuscaler
