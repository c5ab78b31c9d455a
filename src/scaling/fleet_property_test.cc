// What holds for every fleet, tried on many random ones.
#include <algorithm>

#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/dice.h"
#include "scaling/fleet_builder.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {
namespace {

const Asker kScaler{.namespace_name = "team-a", .name = "scaler"};

Trigger AnyTriggerOnPods(Dice& dice) {
  Trigger trigger;
  trigger.workload = "llm";
  trigger.metric = dice.Often() ? MetricType::kGpuUtilization : MetricType::kMemoryUsedPercent;
  trigger.target = dice.Whole(1, 100);
  trigger.target_type = dice.Often() ? TargetType::kAverageValue : TargetType::kValue;
  trigger.aggregation = static_cast<Aggregation>(dice.Whole(0, 5));
  trigger.replica_aggregation = static_cast<ReplicaAggregation>(dice.Whole(0, 3));
  trigger.window = absl::Seconds(dice.Whole(0, 60));
  trigger.activation_window = absl::Seconds(dice.Whole(0, 90));
  trigger.warmup = absl::Seconds(dice.Whole(0, 30));
  trigger.standing_memory = static_cast<StandingMemory>(dice.Whole(0, 2));
  return trigger;
}

HeldPod AnyPod(Dice& dice, std::string name) {
  HeldPod pod{.name = std::move(name), .owner = "llm"};
  for (int gpu = dice.Whole(1, 2); gpu > 0; --gpu) pod.loads.push_back(dice.Whole(0, 100));
  if (!dice.Often()) pod.ready = dice.Often();
  pod.memory_used_percent = dice.Whole(0, 99);
  return pod;
}

HeldPod PodOfOthers(Dice& dice, std::string name) {
  HeldPod pod = AnyPod(dice, std::move(name));
  if (dice.Often()) {
    pod.owner = "other";
  } else {
    pod.namespace_name = "team-b";
  }
  return pod;
}

// For each instant for each node its pods of the workload. A pod stays on its node, and may go.
using Course = std::vector<std::vector<std::vector<HeldPod>>>;

Course AnyCourse(Dice& dice, int nodes) {
  Course course;
  for (int instant = dice.Whole(1, 8); instant > 0; --instant) {
    std::vector<std::vector<HeldPod>> pods(static_cast<size_t>(nodes));
    for (int node = 0; node < nodes; ++node) {
      for (int pod = dice.Whole(0, 2); pod > 0; --pod) {
        pods[static_cast<size_t>(node)].push_back(
            AnyPod(dice, absl::StrCat("llm-", node, "-", pod)));
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
  EXPECT_EQ(one.warming, other.warming);
}

TEST(FleetProperty, PodsOfOthersNeverChangeTheAnswer) {
  ForManySeeds([](Dice& dice) {
    const Trigger trigger = AnyTriggerOnPods(dice);
    FleetBuilder alone;
    FleetBuilder among_others;
    for (const auto& nodes : AnyCourse(dice, 2)) {
      std::vector<NodeSnapshot> own;
      std::vector<NodeSnapshot> all;
      for (size_t node = 0; node < nodes.size(); ++node) {
        std::vector<HeldPod> pods = nodes[node];
        own.push_back(Node(NodeName(node), pods));
        for (int i = dice.Whole(0, 3); i > 0; --i) {
          pods.push_back(PodOfOthers(dice, absl::StrCat("x-", i)));
        }
        all.push_back(Node(NodeName(node), pods));
      }
      all.push_back(Node("gpu-of-others", {PodOfOthers(dice, "x")}));
      const absl::Duration duration = dice.Whole(1, 20) * kTick;
      alone.Hold(duration, own);
      among_others.Hold(duration, all);
    }
    ExpectSameAnswer(Decide(trigger, kScaler, alone.fleet(), kPatience),
                     Decide(trigger, kScaler, among_others.fleet(), kPatience));
  });
}

TEST(FleetProperty, OrderOfNodesDoesNotMatter) {
  ForManySeeds([](Dice& dice) {
    const Trigger trigger = AnyTriggerOnPods(dice);
    FleetBuilder builder;
    for (const auto& nodes : AnyCourse(dice, 3)) {
      std::vector<NodeSnapshot> heard;
      for (size_t node = 0; node < nodes.size(); ++node) {
        if (dice.Often()) heard.push_back(Node(NodeName(node), nodes[node]));
      }
      builder.Hold(dice.Whole(1, 20) * kTick, heard);
    }
    FleetHistory fleet = builder.fleet();
    const Decision forwards = Decide(trigger, kScaler, fleet, kPatience);
    std::ranges::reverse(fleet.nodes);
    ExpectSameAnswer(forwards, Decide(trigger, kScaler, fleet, kPatience));
  });
}

TEST(FleetProperty, SplittingANodeOverSeveralChangesNothing) {
  ForManySeeds([](Dice& dice) {
    const Trigger trigger = AnyTriggerOnPods(dice);
    FleetBuilder together;
    FleetBuilder split;
    for (const auto& nodes : AnyCourse(dice, 3)) {
      std::vector<HeldPod> all;
      std::vector<NodeSnapshot> each;
      for (size_t node = 0; node < nodes.size(); ++node) {
        all.insert(all.end(), nodes[node].begin(), nodes[node].end());
        each.push_back(Node(NodeName(node), nodes[node]));
      }
      const absl::Duration duration = dice.Whole(1, 20) * kTick;
      together.Hold(duration, {Node("gpu", all)});
      split.Hold(duration, each);
    }
    ExpectSameAnswer(Decide(trigger, kScaler, together.fleet(), kPatience),
                     Decide(trigger, kScaler, split.fleet(), kPatience));
  });
}

}  // namespace
}  // namespace gpuscaler
